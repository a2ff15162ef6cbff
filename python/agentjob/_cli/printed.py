"""A command line that is printed, for a person to copy: the secrets in its flags are not."""


def without_value(text):
    """A --header for a command that is printed: a value may be a secret."""
    return text if text.startswith("@") else text.partition(":")[0] + ": ***"


def without_login(url):
    """A --proxy for a command that is printed: its user name or its password is a secret."""
    before, at, host = url.rpartition("@")
    scheme, slashes, _ = before.rpartition("://")
    return scheme + slashes + "***@" + host if at else url


#: The flags whose values may hold a secret, and what is printed of them.
SECRETS = {"--header": without_value, "--proxy": without_login}


def without_secrets(words):
    """The words of a command line, printed."""
    shown, before = [], None
    for word in words:
        flag, equals, value = word.partition("=")
        if before in SECRETS:
            shown.append(SECRETS[before](word))
        elif equals and flag in SECRETS:
            shown.append(flag + equals + SECRETS[flag](value))
        else:
            shown.append(word)
        before = word
    return shown
