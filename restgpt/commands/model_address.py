"""The model's address, if the `.env` of the working directory chose it: commands name it before they ask a model."""

from restgpt.commands.screen.terminal import Terminal


def say_address_of_dotenv(terminal: Terminal) -> None:
    """Say where `.env` sends what the model reads, and with whose key: the folder may be somebody else's."""
    from restgpt.specs.reading.download import public_url
    from restgpt.tools.settings import addresses_of_dotenv

    for address in addresses_of_dotenv():
        try:
            shown = public_url(address.url)
        except ValueError:
            shown = "an address that cannot be read"
        key = f", with your {address.outer_key}, which is not from that file" if address.outer_key else ""
        terminal.say(f"The file .env of this folder sets {address.variable}: requests to the model go to {shown}{key}.")
