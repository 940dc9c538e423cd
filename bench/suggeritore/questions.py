"""What is asked. Each form has three questions, one for each round."""

LISTS = (
    "List twelve fruits as a numbered list, one per line, nothing else.",
    "List twelve European capitals as a numbered list, one per line, nothing else.",
    "Name twelve musical instruments. Answer with a numbered list and nothing else.",
)
TABLES = (
    "Make a Markdown table of ten European countries with their capital and population in millions. "
    "Only the table.",
    "Make a Markdown table with ten rows: number, chemical element, symbol, atomic number. Only the table.",
    "Make a Markdown table of ten programming languages with their author and the year they appeared. "
    "Only the table.",
)
OBJECTS = (
    "Write a JSON array of eight employees. Each object has the keys name, age, department and email. "
    "Output only JSON.",
    "Return a JSON array with eight books: title, author, year, in_stock. No explanation.",
    "Write a JSON array of eight cities with the keys city, country, population and capital. Output only JSON.",
)
PROSE = (
    "Explain in two paragraphs why the sky is blue.",
    "Tell a short story about a lighthouse keeper, about 120 words.",
    "Why do people dream? Answer in one long paragraph.",
)
