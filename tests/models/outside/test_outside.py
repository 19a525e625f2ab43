"""Models from outside: functions, estimators of scikit-learn, torch modules, ONNX files; what they may not do."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from oodometer.errors import InputError, UsageError, WorkError
from oodometer_lab.models.base import Request
from oodometer_lab.models.ensemble import Ensemble
from oodometer_lab.models.opening import open_classifier
from oodometer_lab.models.outside import FunctionClassifier

from ...snapshots import raises_snapshot

TEXTS = ["a good film", "bad", "good good", "so bad"]


def told(texts: Any) -> Any:
    """Probabilities by one word."""
    return np.array([[0.2, 0.8] if "good" in text else [0.7, 0.3] for text in texts])


def test_a_function_is_asked_in_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    sizes: list[int] = []

    def counted(texts: Any) -> Any:
        sizes.append(len(texts))
        return told(texts)

    model = open_classifier(counted, classes=["bad", "good"])
    found = model.ask(TEXTS * 100)
    assert found.probabilities is not None
    np.testing.assert_array_equal(found.probabilities, told(TEXTS * 100))
    assert sizes == [256, 144]
    assert model.classes == ("bad", "good")
    views = model.ask(TEXTS, Request(views=3)).views
    assert views.shape == (3, 4)


@pytest.mark.parametrize(
    "answer",
    [
        lambda texts: told(texts)[:-1],
        lambda texts: told(texts)[:, :1],
        lambda texts: [1.0] * len(texts),
        lambda texts: "x",
        lambda texts: 3 * told(texts),
        lambda texts: np.full((len(texts), 2), np.nan),
        lambda texts: np.ones((len(texts), 3)) / 3,
    ],
)
def test_wrong_outputs_are_refused(answer: Any) -> None:
    with raises_snapshot(InputError):
        open_classifier(answer, classes=["bad", "good"]).ask(TEXTS)


def test_what_a_function_raises_is_one_line() -> None:
    def broken(texts: Any) -> Any:
        raise RuntimeError("no weights")

    with raises_snapshot(WorkError):
        open_classifier(broken).ask(TEXTS)


def test_features_dropout_training_and_saving_are_refused(tmp_path: Path) -> None:
    model = FunctionClassifier(told)
    for call in (
        lambda: model.ask(TEXTS, Request(features=True)),
        lambda: model.ask(TEXTS, Request(dropout=2)),
        lambda: model.fit(TEXTS, [0, 1, 1, 0]),
        lambda: model.save(tmp_path / "x"),
        lambda: FunctionClassifier.load(tmp_path),
    ):
        with pytest.raises((UsageError, InputError)):
            call()


def test_an_estimator_by_the_names_of_its_columns() -> None:
    pd = pytest.importorskip("pandas")
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"a": rng.normal(size=60), "b": rng.normal(size=60) * 5})
    y = np.where(frame["a"] > 0, "yes", "no")
    fitted = make_pipeline(StandardScaler(), LogisticRegression()).fit(frame, y)
    model = open_classifier(fitted)
    shuffled = {"b": frame["b"].to_numpy(), "other": np.zeros(60), "a": frame["a"].to_numpy()}
    found = model.ask(shuffled).probabilities
    assert found is not None
    np.testing.assert_allclose(found, fitted.predict_proba(frame), rtol=1e-12)
    assert model.classes == ("no", "yes")
    with raises_snapshot(InputError):
        model.ask({"b": np.zeros(3)})
    with raises_snapshot(UsageError):
        open_classifier(LogisticRegression())
    from sklearn.linear_model import LinearRegression

    with raises_snapshot(InputError):
        open_classifier(LinearRegression())


def test_a_torch_module_over_images_and_tables(torch: Any) -> None:
    torch.manual_seed(0)
    net = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(3 * 8 * 8, 2))
    pixels = np.random.default_rng(0).integers(0, 256, size=(5, 8, 8, 3)).astype(np.uint8)
    found = open_classifier(net).ask(pixels).logits
    plain = (
        net(torch.from_numpy(pixels.transpose(0, 3, 1, 2).astype(np.float32) / 255))
        .detach()
        .numpy()
    )
    np.testing.assert_allclose(found, plain, atol=1e-6)
    with raises_snapshot(WorkError):
        open_classifier(net).ask(np.zeros((2, 9, 9, 3), dtype=np.uint8))
    table = torch.nn.Linear(2, 3)
    logits = (
        open_classifier(table, classes=["x", "y", "z"])
        .ask({"b": np.ones(4), "a": np.zeros(4)})
        .logits
    )
    assert logits.shape == (4, 3)


def linear_onnx(path: Path, weights: Any, *, image: bool = False, output: str = "logits") -> Path:
    """A linear layer as an ONNX file, over a table or over images."""
    onnx = pytest.importorskip("onnx", reason="needs onnx: pip install onnx")
    helper, kind = onnx.helper, onnx.TensorProto.FLOAT
    shape = ["rows", 3, 4, 4] if image else ["rows", len(weights)]
    nodes = [helper.make_node("Flatten", ["x"], ["flat"], axis=1)] if image else []
    last = "sums" if output == "probabilities" else output
    nodes.append(helper.make_node("MatMul", ["flat" if image else "x", "w"], [last]))
    if output == "probabilities":
        nodes.append(helper.make_node("Softmax", ["sums"], [output], axis=1))
    graph = helper.make_graph(
        nodes,
        "linear",
        [helper.make_tensor_value_info("x", kind, shape)],
        [helper.make_tensor_value_info(output, kind, ["rows", weights.shape[1]])],
        [onnx.numpy_helper.from_array(weights.astype(np.float32), "w")],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    onnx.save(model, path)
    return path


def test_an_onnx_file_over_a_table_and_images(tmp_path: Path) -> None:
    pytest.importorskip("onnxruntime", reason="needs the extra onnx: pip install '.[onnx]'")
    rng = np.random.default_rng(0)
    weights = rng.normal(size=(2, 3))
    model = open_classifier(str(linear_onnx(tmp_path / "t.onnx", weights)), classes=["a", "b", "c"])
    x = rng.normal(size=(7, 2)).astype(np.float32)
    np.testing.assert_allclose(
        model.ask({"u": x[:, 0], "v": x[:, 1]}).logits, x @ weights, atol=1e-5
    )
    with raises_snapshot(InputError):
        model.ask({"u": x[:, 0], "v": x[:, 1], "w": x[:, 1]})
    given = open_classifier(linear_onnx(tmp_path / "p.onnx", weights, output="probabilities"))
    found = given.ask({"u": x[:, 0], "v": x[:, 1]})
    assert found.logits is None
    np.testing.assert_allclose(found.distribution.sum(1), 1, atol=1e-6)
    pixels = rng.integers(0, 256, size=(3, 4, 4, 3)).astype(np.uint8)
    big = rng.normal(size=(48, 2))
    seen = open_classifier(linear_onnx(tmp_path / "i.onnx", big, image=True)).ask(pixels).logits
    flat = pixels.transpose(0, 3, 1, 2).reshape(3, -1) / 255
    np.testing.assert_allclose(seen, flat @ big, atol=1e-4)
    (tmp_path / "bad.onnx").write_text("no graph")
    with raises_snapshot(InputError):
        open_classifier(tmp_path / "bad.onnx")
    with raises_snapshot(InputError):
        open_classifier(tmp_path / "none.onnx")


def test_references_to_modules(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "my_models.py").write_text(
        "import numpy as np\n"
        "def asked(texts):\n    return np.tile([0.25, 0.75], (len(texts), 1))\n"
        "def make():\n    return asked\n"
        "def broken():\n    raise OSError('no file')\n"
        "size = 3\n"
    )
    (tmp_path / "my_faulty.py").write_text("1 / 0\n")
    monkeypatch.chdir(tmp_path)
    for name in ("my_models:asked", "my_models:make"):
        found = open_classifier(name).ask(TEXTS).probabilities
        assert found[0].tolist() == [0.25, 0.75]
    for name, words in {
        "my_models:none": "expected none in my_models, got",
        "my_models:size": "a function, a fitted estimator or a torch module, got 3",
        "my_models:broken": "a function that gives a model, got OSError: no file",
        "my_faulty:make": "a module my_faulty that can be imported, got ZeroDivisionError",
        "no_such_module:make": "expected a module no_such_module",
    }.items():
        with pytest.raises(InputError, match=words):
            open_classifier(name)
    assert str(tmp_path) not in sys.path
    sys.modules.pop("my_models", None)


def test_what_is_no_model_is_refused(tmp_path: Path, tiny_encoder: Path) -> None:
    (tmp_path / "x.pkl").write_bytes(b"\x80\x04.")
    with raises_snapshot(UsageError):
        open_classifier(tmp_path / "x.pkl")
    (tmp_path / "empty").mkdir()
    with raises_snapshot(InputError):
        open_classifier(tmp_path / "empty")
    with raises_snapshot(InputError):
        open_classifier(tiny_encoder)


def test_members_of_an_ensemble_are_matched_by_name() -> None:
    first = FunctionClassifier(told, classes=["bad", "good"])
    second = FunctionClassifier(
        lambda texts: told(texts)[:, ::-1], classes=["good", "bad"], name="second"
    )
    found = Ensemble([first, second], names=["one", "two"]).ask(TEXTS)
    np.testing.assert_array_equal(found.members[0], found.members[1])
    np.testing.assert_array_equal(found.distribution, told(TEXTS))
    third = FunctionClassifier(
        lambda texts: np.full((len(texts), 2), 0.5), classes=["bad", "good"], name="third"
    )
    mean = Ensemble([first, third], average=True).ask(TEXTS)
    np.testing.assert_allclose(mean.distribution, (told(TEXTS) + 0.5) / 2)
    record = Ensemble([first, third], names=["one", "two"]).predict(TEXTS)
    assert record.names == {"model": ("one", "two")}
    other = FunctionClassifier(told, classes=["bad", "fine"], name="other")
    with raises_snapshot(InputError):
        Ensemble([first, other])


def test_members_may_tell_their_classes_when_they_answer() -> None:
    """Functions whose classes nobody named: positions, once each has answered."""
    first, second = (FunctionClassifier(told, name=name) for name in ("first", "second"))
    found = Ensemble([first, second], names=["one", "two"]).ask(TEXTS)
    np.testing.assert_array_equal(found.members, np.stack([told(TEXTS)] * 2))
    assert found.classes == (0, 1)
    three = FunctionClassifier(lambda texts: np.full((len(texts), 3), 1 / 3), name="three")
    with raises_snapshot(InputError):
        Ensemble([first, three]).ask(TEXTS)


@pytest.mark.parametrize("asked", [["good", "bad"], ["Good", "Bad"]])
def test_a_models_own_names_are_not_exchanged(asked: list[str]) -> None:
    class Fitted:
        classes_ = ("bad", "good")

        def predict_proba(self, texts: Any) -> Any:
            return told(texts)

    for model in (FunctionClassifier(told, classes=["bad", "good"]), Fitted()):
        with raises_snapshot(UsageError):
            open_classifier(model, classes=asked)
        assert open_classifier(model, classes=["no", "yes"]).classes == ("no", "yes")
    numbered = FunctionClassifier(told, classes=[0, 1])  # positions, as LABEL_0 and LABEL_1 are
    assert open_classifier(numbered, classes=[1, 0]).classes == (1, 0)


def test_an_estimator_without_probabilities_is_told_what_to_do() -> None:
    class Margin:
        classes_ = ("bad", "good")

        def predict(self, texts: Any) -> Any:
            return texts

    with raises_snapshot(InputError):
        open_classifier(Margin())


@pytest.mark.parametrize("name", ["tpu", "cuda:x", "CPU", ""])
def test_a_device_that_is_none_is_refused(name: str) -> None:
    from oodometer_lab.models.torch.library import choose_device

    with raises_snapshot(UsageError):
        choose_device(name)
    assert choose_device("cpu") == "cpu"
