"""Pairs of questions, made for this: some mean the same, the others nearly look as if they did."""

from __future__ import annotations

from dataclasses import dataclass

_SAME = """
How do I reset my password?|I forgot my password, how can I set a new one?
What is the capital of France?|Which city is the capital of France?
How can I cancel my subscription?|What do I have to do to cancel my subscription?
How long does shipping take?|How many days until my parcel arrives?
What is the boiling point of water?|At what temperature does water boil?
Who wrote Hamlet?|Who is the author of Hamlet?
How do I delete a file in Linux?|What command removes a file on Linux?
What are the symptoms of flu?|Which symptoms does the flu have?
How do I make pancakes?|Can you give me a recipe for pancakes?
Why is the sky blue?|What makes the sky blue?
How do I change my email address?|I want to update the email address of my account.
What does HTTP 404 mean?|What is the meaning of HTTP 404?
How can I learn Spanish quickly?|What is the fastest way to learn Spanish?
When was the Eiffel Tower built?|In which year was the Eiffel Tower built?
Do you ship to Canada?|Is delivery to Canada possible?
How do I sort a list in Python?|What is the way to sort a Python list?
Is coffee bad for you?|Does coffee harm your health?
How do I tie a tie?|Show me how to tie a tie.
What is machine learning?|Explain machine learning.
How much does the premium plan cost?|What is the price of the premium plan?
Where can I find my invoice?|Where do I see my invoices?
How do I boil an egg?|What is the right way to boil an egg?
What time do you open?|When do you open?
How tall is Mount Everest?|What is the height of Mount Everest?
Can I return an item I bought on sale?|Is it possible to send back something bought on sale?
How do I write a cover letter?|How should a cover letter be written?
What causes inflation?|Why does inflation happen?
How do I connect to the wifi?|How can I get on the wifi?
What is the largest planet?|Which planet is the largest?
How do plants make food?|In what way do plants produce their food?
How do I remove a coffee stain?|How to get rid of a coffee stain?
What is the speed of light?|How fast does light travel?
How can I lower my electricity bill?|How do I reduce my power bill?
What should I pack for a beach holiday?|What do I need to bring to a beach holiday?
How do I merge two branches in git?|How are two git branches merged?
Who painted the Mona Lisa?|The Mona Lisa was painted by whom?
Is my data encrypted?|Do you encrypt my data?
How do I speak to a human?|Can I talk to a real person?
What is photosynthesis?|Can you explain what photosynthesis is?
How do I train for a marathon?|What training do I need for a marathon?
How many calories are in an apple?|What is the calorie count of an apple?
How do I take a screenshot on Windows?|How can I capture my screen on Windows?
What is a black hole?|Could you describe what a black hole is?
How do I fix a flat tyre?|How to repair a flat tyre?
Which vitamins are in oranges?|What vitamins do oranges contain?
How do I get to the airport?|What is the way to the airport?
Why do cats purr?|What is the reason cats purr?
My order has not arrived.|I have not received my order.
How do I list all docker containers?|What is the command for listing all docker containers?
What is the difference between a virus and a bacterium?|How do a virus and a bacterium differ?
How do I improve my sleep?|What can I do to sleep better?
How is cheese made?|How do you make cheese?
What does a product manager do?|What are the tasks of a product manager?
Can dogs eat chocolate?|Is chocolate safe for dogs?
How do I split a string in JavaScript?|What is the method to split a JavaScript string?
How do I create an index in PostgreSQL?|How can an index be created in PostgreSQL?
What is the minimum wage in Germany?|How high is the minimum wage in Germany?
Translate good morning to Italian.|How do you say good morning in Italian?
Summarise the plot of Macbeth.|Give me a summary of the plot of Macbeth.
How do I freeze bread?|What is the best way to freeze bread?
How do I stop receiving emails?|How can I unsubscribe from your emails?
What is an API?|What does API mean?
How often should I water a cactus?|How frequently does a cactus need water?
How do I add a user to the team?|How can I invite somebody to the team?
"""

_NUMBER = """
How do I install Python 3.11 on Ubuntu?|How do I install Python 3.12 on Ubuntu?
What is 15 percent of 240?|What is 15 percent of 420?
What is the weather in 3 days?|What is the weather in 5 days?
How many calories are in two eggs?|How many calories are in three eggs?
What does HTTP 404 mean?|What does HTTP 403 mean?
How many days are in 6 weeks?|How many days are in 16 weeks?
Who was president in 1962?|Who was president in 1964?
Give me five ideas for dinner.|Give me ten ideas for dinner.
Is a 30 minute walk enough?|Is a 10 minute walk enough?
How old is someone born in 1990?|How old is someone born in 1980?
What is 12 times 7?|What is 12 times 9?
Write a poem of 4 lines about rain.|Write a poem of 8 lines about rain.
Can I return it after 14 days?|Can I return it after 40 days?
What is a budget of 1,000 euros good for?|What is a budget of 10,000 euros good for?
"""

_NEGATION = """
Is it safe to eat raw eggs?|Is it not safe to eat raw eggs?
Which foods contain gluten?|Which foods do not contain gluten?
Which animals can fly?|Which animals can't fly?
Why should I use a framework?|Why should I not use a framework?
List countries with a coast.|List countries without a coast.
What should I do in an earthquake?|What should I never do in an earthquake?
Show the orders that were delivered.|Show the orders that were not delivered.
What happens if I pay on time?|What happens if I don't pay on time?
Which drinks have caffeine?|Which drinks have no caffeine?
When is the shop open?|When is the shop not open?
Which users have logged in this week?|Which users have never logged in this week?
Recipes with nuts, please.|Recipes without nuts, please.
"""

_ENTITY = """
What is the capital of France?|What is the capital of Italy?
Who wrote Hamlet?|Who wrote Faust?
How do I sort a list in Python?|How do I sort a list in Ruby?
what is the capital of norway?|what is the capital of sweden?
How tall is Mount Everest?|How tall is Mount Elbrus?
How do I delete a file in Linux?|How do I delete a file in Windows?
Translate good morning to Italian.|Translate good morning to Spanish.
How do I make pancakes?|How do I make waffles?
How many calories are in an apple?|How many calories are in a banana?
Can dogs eat chocolate?|Can cats eat chocolate?
Who painted the Mona Lisa?|Who painted the Night Watch?
What is the currency of Japan?|What is the currency of China?
How do I change my email address?|How do I change my postal address?
What is the population of Berlin?|What is the population of Munich?
what is the time in london?|what is the time in lisbon?
How do I freeze bread?|How do I freeze soup?
How do I get to the airport?|How do I get to the station?
What are the symptoms of measles?|What are the symptoms of mumps?
What is the boiling point of water?|What is the boiling point of alcohol?
Which vitamins are in oranges?|Which minerals are in oranges?
"""

_DIRECTION = """
How do I convert miles to kilometres?|How do I convert kilometres to miles?
What is the best way to increase my weight?|What is the best way to decrease my weight?
How do I enable dark mode?|How do I disable dark mode?
What should I do before surgery?|What should I do after surgery?
How do I import contacts?|How do I export contacts?
How do I buy shares?|How do I sell shares?
What is the highest temperature today?|What is the lowest temperature today?
How do I add a user to the team?|How do I remove a user from the team?
How do I encrypt a file?|How do I decrypt a file?
What are the advantages of solar power?|What are the disadvantages of solar power?
How do I turn on notifications?|How do I turn off notifications?
How do I get from Rome to Naples?|How do I get from Naples to Rome?
What is the maximum weight of a parcel?|What is the minimum weight of a parcel?
How do I upload a photo?|How do I download a photo?
Translate this from English to German: fish|Translate this from German to English: fish
Who is older, the king or the queen?|Who is younger, the king or the queen?
"""

_ORDER = """
Is red bigger than blue?|Is blue bigger than red?
Did the dog bite the man?|Did the man bite the dog?
Does Anna like Ben?|Does Ben like Anna?
Can a lion beat a tiger?|Can a tiger beat a lion?
Is gold heavier than silver?|Is silver heavier than gold?
Does rain cause clouds?|Do clouds cause rain?
Why do teachers fear parents?|Why do parents fear teachers?
Subtract the discount from the price.|Subtract the price from the discount.
Is tea cheaper than coffee?|Is coffee cheaper than tea?
Should I eat and then sleep?|Should I sleep and then eat?
"""


@dataclass(frozen=True, slots=True)
class Pair:
    one: str
    other: str
    kind: str
    """``same``, or what differs."""


KINDS = {
    "same": _SAME,
    "number": _NUMBER,
    "negation": _NEGATION,
    "entity": _ENTITY,
    "direction": _DIRECTION,
    "order": _ORDER,
}
PAIRS = [Pair(*line.split("|"), kind) for kind, text in KINDS.items() for line in text.strip().splitlines()]
