import click

from reame_core.hookspecs import hookimpl


@click.command(short_help="Greet somebody.")
@click.argument("name")
def greet(name):
    """Greet NAME."""
    click.echo(f"Hello {name}")


@hookimpl
def register_commands(cli):
    cli.add_command(greet)
