"""What of an address may be seen."""

import pytest

from gradsift.files import Secrets, place, shown


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("http://user:pw@host:80/a/b?token=t#part", "http://host:80/a/b?***"),
        ("http:/user:pw@host/a", "http:/host/a"),  # as pathlib writes it
        ("got 'ftp://user:pw@host/x'.", "got 'ftp://host/x'."),
        ("postgres://user:pw@host/db", "postgres://host/db"),
        ("http://user:p/w@host/x?q", "http://host/x?***"),
        ("http://user:p?w@host/x", "http://host/x"),
        ("http://user:pw", "http://***"),
        ("https://[::1]:80/p", "https://[::1]:80/p"),
        ("http://host/model@2", "http://host/model@2"),
        ("user:pw@host/path?token=t", "host/path"),
        ("no folder for predict?token=t.json.", "no folder for predict?***"),
        ("box:f", "box:f"),
        ("C:/data/d.csv", "C:/data/d.csv"),
        ("query 3: 0.5 at x@y", "query 3: 0.5 at x@y"),
    ],
)
def test_an_address_is_shown_without_what_opens_it(text, kept):
    assert shown(text) == kept


def test_secrets_are_taken_out_of_texts_however_they_are_written():
    hide = Secrets("http://us%20er:pa%2Fss@h/?token=abc%3Ddef&x=1", {"Authorization": "Bearer moon-light"}).shown
    for text in ("us er", "us%20er", "pa/ss", "pa%2Fss", "abc=def", "abc%3Ddef", "moon-light", "Bearer moon-light"):
        assert hide(f"the server said {text}!") == "the server said ***!"
    assert hide("token basic dXMgZXI6cGEvc3M= x=1") == "token basic *** x=1"  # base64, as it is sent; and no secret
    assert Secrets("http://host/").shown("plain words") == "plain words"


def test_the_place_of_a_server_is_its_name():
    assert place("https://u:p@[::1]:8443/v1?key=k") == "https://[::1]:8443/v1"
