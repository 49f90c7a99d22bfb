"""Models behind a real local HTTP server."""

import datetime
import email.utils
import json
import socket
import threading

import numpy as np
import pytest
from werkzeug import Response

import gradsift as gs
from gradsift.oracle import Retry, from_url
from gradsift.oracle.adapters import http as posting
from gradsift.oracle.adapters.http import _retry_after

from .boxes import points, smooth, two_outputs

X = points(12)
AT_ONCE = Retry(first_wait=0.0)


class Service:
    """Answers like TensorFlow Serving, after the failures it was told to begin with."""

    def __init__(self, function=smooth, failures=()):
        self.function, self.failures = function, list(failures)
        self.bodies, self.headers, self.lock = [], [], threading.Lock()

    def __call__(self, request):
        with self.lock:
            self.bodies.append(request.get_json())
            self.headers.append(dict(request.headers))
            failure = self.failures.pop(0) if self.failures else None
        if failure is not None:
            return failure
        return Response(json.dumps({"predictions": self.function(self.rows(self.bodies[-1])).tolist()}))

    @staticmethod
    def rows(body):
        return np.array(body["instances"])


@pytest.fixture
def serve(httpserver):
    def start(service):
        httpserver.expect_request("/predict", method="POST").respond_with_handler(service)
        return httpserver.url_for("/predict")

    return start


def test_numbers_pass_through_json_without_losing_a_bit(serve):
    service = Service()
    with from_url(serve(service), 3, batch_size=5) as oracle:
        np.testing.assert_array_equal(oracle(X), smooth(X))
    assert [len(body["instances"]) for body in service.bodies] == [5, 5, 2]
    assert oracle.n_queries == 12


def test_several_outputs_and_threads(serve):
    with from_url(serve(Service(two_outputs)), 3, batch_size=2, n_jobs=3) as oracle:
        np.testing.assert_array_equal(oracle(X), two_outputs(X))


def test_a_template_and_a_path_speak_another_protocol(httpserver):
    def infer(request):
        tensor = request.get_json()["inputs"][0]
        assert (tensor["shape"], tensor["datatype"]) == ([12, 3], "FP64")
        return Response(json.dumps({"outputs": [{"name": "y", "data": smooth(np.array(tensor["data"])).tolist()}]}))

    httpserver.expect_request("/infer").respond_with_handler(infer)
    body = {"inputs": [{"name": "x", "shape": ["{n}", "{d}"], "datatype": "FP64", "data": "{rows}"}]}
    for template in (body, json.dumps(body)):
        with from_url(httpserver.url_for("/infer"), 3, body=template, answer="outputs.0.data") as oracle:
            np.testing.assert_array_equal(oracle(X), smooth(X))


@pytest.mark.parametrize("one_by_one", [False, True])
def test_labels_in_a_reply_are_read_as_decisions(httpserver, one_by_one):
    w, words = np.array([1.0, -2.0, 0.5]), np.array(["ham", "spam"])

    def label(request):
        rows = np.atleast_2d(request.get_json()["x"])
        told = words[(rows @ w > 0.3).astype(int)].tolist()
        return Response(json.dumps({"label": told[0] if one_by_one else told}))

    httpserver.expect_request("/label").respond_with_handler(label)
    body = {"x": "{row}" if one_by_one else "{rows}"}
    with from_url(httpserver.url_for("/label"), 3, body=body, answer="label") as oracle:
        found = gs.recover(oracle, random_state=0)
    assert found.certified
    assert found.network.classes == ("ham", "spam")
    direction = found.network.layers[0].weights[0]
    np.testing.assert_allclose(direction / np.linalg.norm(direction), w / np.linalg.norm(w), atol=1e-6)


def test_a_service_for_one_row_at_a_time_is_asked_row_by_row(httpserver):
    seen = []

    def one(request):
        seen.append(request.get_json()["x"])
        return Response(json.dumps(smooth(np.array([seen[-1]]))[0]))

    httpserver.expect_request("/one").respond_with_handler(one)
    with from_url(httpserver.url_for("/one"), 3, body={"x": "{row}"}) as oracle:
        np.testing.assert_array_equal(oracle(X), smooth(X))
    np.testing.assert_array_equal(seen, X)


def test_passing_failures_are_tried_again_and_rows_count_once(serve):
    service = Service(failures=[Response("busy", 503), Response("slow down", 429, {"Retry-After": "0"})])
    with from_url(serve(service), 3, retry=AT_ONCE) as oracle:
        np.testing.assert_array_equal(oracle(X), smooth(X))
    assert len(service.bodies) == 3
    assert oracle.n_queries == 12


def test_the_pause_that_the_server_asks_for_is_kept(serve, caplog):
    service = Service(failures=[Response("wait", 429, {"Retry-After": "0.03"}), Response("oh", 500)])
    with from_url(serve(service), 3, retry=AT_ONCE) as oracle:
        oracle(X)
    assert [record.getMessage() for record in caplog.records if record.name == "gradsift.http"] == [
        "a request got no answer (status 429); asking again in 0.03 s.",
        "a request got no answer (status 500); asking again in 0 s.",
    ]


def test_pauses_are_read_as_seconds_or_dates_and_limited():
    date = email.utils.format_datetime(datetime.datetime.now(datetime.UTC) + datetime.timedelta(seconds=60))
    assert 50 < _retry_after(date) <= 60
    assert [_retry_after(text) for text in (None, "7", "-3", "9999", "soon")] == [None, 7.0, 0.0, 120.0, None]
    strange = ("nan", "-inf", "inf", "1e999", "", "Mon, 99 Foo 99999 99:99:99 GMT", "Fri, 31 Dec 9999 23:59:59 -2359")
    assert [_retry_after(text) for text in strange] == [None, 0.0, 120.0, 120.0, None, None, 120.0]


def test_null_answers_are_asked_again(serve):
    service = Service(failures=[Response(json.dumps({"predictions": [None, *smooth(X[1:]).tolist()]}))])
    with from_url(serve(service), 3, retry=AT_ONCE) as oracle:
        np.testing.assert_array_equal(oracle(X), smooth(X))
    assert [len(body["instances"]) for body in service.bodies] == [12, 1]


def test_a_service_that_stays_away_is_a_failure_after_all_attempts(serve):
    service = Service(failures=[Response("busy", 503)] * 9)
    with (
        from_url(serve(service), 3, retry=AT_ONCE) as oracle,
        pytest.raises(gs.errors.OracleFailure, match="refused with status 503: busy") as caught,
    ):
        oracle(X)
    assert len(service.bodies) == 4
    np.testing.assert_array_equal(caught.value.partial, X[0])


def test_a_refusal_is_not_tried_again_and_says_what_the_server_said(serve):
    service = Service(failures=[Response("d must be 4,\n not 3", 422)])
    with (
        from_url(serve(service), 3) as oracle,
        pytest.raises(gs.errors.OracleFailure, match="refused with status 422: d must be 4, not 3"),
    ):
        oracle(X)
    assert len(service.bodies) == 1


@pytest.mark.parametrize(
    ("status", "said", "advice"),
    [
        (413, "Request Entity Too Large", "lower batch_size"),
        (400, "feature 2 is out of range", r"bounds=\(low, high\)"),
        (422, "x must be between 0 and 1", r"bounds=\(low, high\)"),
    ],
)
def test_a_refusal_names_the_option_that_it_asks_for(serve, status, said, advice):
    with (
        from_url(serve(Service(failures=[Response(said, status)])), 3) as oracle,
        pytest.raises(gs.errors.OracleFailure, match=f"status {status}: {said}.*{advice}"),
    ):
        oracle(X)


def test_other_refusals_get_no_advice(serve):
    with (
        from_url(serve(Service(failures=[Response("unknown model", 400)])), 3) as oracle,
        pytest.raises(gs.errors.OracleFailure, match=r"status 400: unknown model\.$"),
    ):
        oracle(X)


def test_a_page_in_place_of_json_may_pass(serve):
    service = Service(failures=[Response("<html>please wait</html>")])
    with from_url(serve(service), 3, retry=AT_ONCE) as oracle:
        np.testing.assert_array_equal(oracle(X), smooth(X))
    assert len(service.bodies) == 2


def test_numbers_are_taken_out_of_an_object_for_each_row(httpserver):
    def answer(request):
        values = smooth(np.array(request.get_json()["instances"]))
        return Response(json.dumps({"predictions": [{"score": {"value": v}} for v in values]}))

    httpserver.expect_request("/predict", method="POST").respond_with_handler(answer)
    with from_url(httpserver.url_for("/predict"), 3, answer="predictions[].score.value") as oracle:
        np.testing.assert_array_equal(oracle(X), smooth(X))
    with (
        from_url(httpserver.url_for("/predict"), 3, answer="predictions[].label") as oracle,
        pytest.raises(gs.errors.OracleFailure, match=r"has no 'label' on the way .* but \['score'\]"),
    ):
        oracle(X)


def test_a_server_that_never_replies_runs_into_the_timeout():
    with socket.create_server(("127.0.0.1", 0)) as silent:  # takes connections, reads nothing
        url = f"http://127.0.0.1:{silent.getsockname()[1]}/predict"
        with (
            from_url(url, 3, timeout=0.05, retry=Retry(2, 0.0)) as oracle,
            pytest.raises(gs.errors.OracleFailure, match=r"in 2 attempts: no complete reply within 0\.05 s"),
        ):
            oracle(X)


def test_nobody_listening_is_a_failure_in_one_sentence():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with (
        from_url(f"http://127.0.0.1:{port}/predict", 3, retry=Retry(2, 0.0)) as oracle,
        pytest.raises(gs.errors.OracleFailure, match="did not answer in 2 attempts: ConnectError"),
    ):
        oracle(X)


@pytest.mark.parametrize(
    ("reply", "message", "n_asked"),
    [
        (Response("<html>"), "did not answer with JSON but with '<html>'", 4),
        (Response('{"result": [1]}'), r"has no 'predictions' on the way to answer='predictions', but \['result'\]", 1),
    ],
)
def test_replies_of_another_form_are_failures(serve, reply, message, n_asked):
    service = Service(failures=[reply] * 9)
    with from_url(serve(service), 3, retry=AT_ONCE) as oracle, pytest.raises(gs.errors.OracleFailure, match=message):
        oracle(X)
    assert len(service.bodies) == n_asked


class Clock:
    """Stands still but for sleeping."""

    def __init__(self):
        self.now, self.sleeps = 100.0, []

    def monotonic(self):
        return self.now

    def sleep(self, seconds):
        self.sleeps.append(seconds)


def test_requests_keep_the_asked_for_distance_also_from_several_threads(serve, monkeypatch):
    clock = Clock()
    monkeypatch.setattr(posting, "time", clock)
    with from_url(serve(Service()), 3, batch_size=2, n_jobs=3, per_second=4) as oracle:
        np.testing.assert_array_equal(oracle(X), smooth(X))
    assert sorted(clock.sleeps) == [0.25, 0.5, 0.75, 1.0, 1.25]  # six requests at one moment take six slots
    clock.now += 10
    with from_url(serve(Service()), 3, per_second=4) as oracle:
        oracle(X)
    assert len(clock.sleeps) == 5  # a pause that has passed anyway is not waited for


def test_headers_are_sent_but_neither_they_nor_keys_in_the_address_are_stored(serve, tmp_path):
    service = Service()
    url = serve(service).replace("http://", "http://user:pass-word@") + "?key=sesame"
    with from_url(url, 3, headers={"Authorization": "Bearer moon"}, journal=tmp_path / "c.db") as oracle:
        oracle(X)
    assert service.headers[0]["Authorization"] in ("Bearer moon", "Basic dXNlcjpwYXNzLXdvcmQ=")
    stored = b"".join(file.read_bytes() for file in tmp_path.iterdir())
    assert b"/predict" in stored
    for secret in (b"sesame", b"pass-word", b"moon"):
        assert secret not in stored


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (dict(url="ftp://host/x"), "url must begin with http"),
        (dict(url="http://"), "name a host"),
        (dict(body={"x": 1}), r'body must contain the text "\{rows\}" or "\{row\}"'),
        (dict(url="http://host:99x/"), r"url must begin with http.*got 'http://\*\*\*'"),
        (dict(max_reply=0), "max_reply must be at least 1"),
        (dict(timeout=0), "timeout must be above 0"),
        (dict(per_second=-1), "per_second must be above 0"),
    ],
)
def test_bad_settings_get_one_sentence(arguments, message):
    with pytest.raises(ValueError, match=message):
        from_url(**{"url": "http://localhost/", "n_features": 3, **arguments})
