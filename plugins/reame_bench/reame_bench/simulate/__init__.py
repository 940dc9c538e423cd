"""``reame bench --simulate``: what one machine does in a day and what that costs, from measured times."""
