"""Numbers of the studies from NumPy, SciPy and scikit-learn: python tests/data/make_studies.py > tests/data/studies.json

Made with NumPy 2.4, SciPy 1.17 and scikit-learn 1.9. Matrices are stored row by row.
"""

import json

import numpy as np
from scipy.stats import entropy, spearmanr
from sklearn.linear_model import Ridge
from sklearn.metrics import r2_score

random = np.random.default_rng(7)


def stored(matrix):
    return {"rows": matrix.shape[0], "columns": matrix.shape[1], "values": matrix.ravel().tolist()}


def spectrum(matrix):
    matrix = matrix.astype(np.float32).astype(np.float64)
    values = np.linalg.svd(matrix, compute_uv=False)
    variance = np.cumsum(values**2) / np.sum(values**2)
    return {
        "matrix": stored(matrix),
        "singular_values": values.tolist(),
        "cumulative": variance.tolist(),
        "cumulative_values": (np.cumsum(values) / np.sum(values)).tolist(),
        "components": int(np.argmax(variance >= 0.9 - 1e-12)) + 1,
    }


def softmax(scores):
    powers = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return powers / powers.sum(axis=-1, keepdims=True)


def causal(scores):
    return softmax(np.where(np.tril(np.ones_like(scores)) > 0, scores, -1e30))


def regression(items, inputs, outputs, alpha):
    x = random.normal(size=(items, inputs)) + 0.5
    y = x @ random.normal(size=(inputs, outputs)) + random.normal(size=(items, outputs)) - 2
    other_x = random.normal(size=(items // 2, inputs))
    other_y = other_x @ random.normal(size=(inputs, outputs))
    model = Ridge(alpha=alpha).fit(x, y)
    return {
        "x": stored(x),
        "y": stored(y),
        "other_x": stored(other_x),
        "other_y": stored(other_y),
        "ridge": alpha,
        "predicted": stored(model.predict(other_x)),
        "explained": r2_score(y, model.predict(x), multioutput="variance_weighted"),
        "explained_other": r2_score(other_y, model.predict(other_x), multioutput="variance_weighted"),
    }


def correlation(a, b):
    return {"a": list(map(float, a)), "b": list(map(float, b)), "spearman": float(spearmanr(a, b).statistic)}


distribution = softmax(random.normal(size=11))
print(
    json.dumps(
        {
            "spectra": [
                spectrum(softmax(2 * random.normal(size=(12, 12)))),
                spectrum(causal(random.normal(size=(17, 17)))),
                spectrum(softmax(random.normal(size=(9, 14)))),
                spectrum(random.normal(size=(20, 3)) @ random.normal(size=(3, 16))),
                spectrum(np.full((8, 8), 1 / 8)),
            ],
            "correlations": [
                correlation(random.normal(size=15), random.normal(size=15)),
                correlation([1, 2, 2, 3, 5, 5, 5], [2, 2, 1, 7, 4, 4, 9]),
                correlation(range(6), [1, 2, 4, 8, 16, 32]),
            ],
            "entropy": {"distribution": distribution.tolist(), "nats": float(entropy(distribution))},
            "regressions": [regression(30, 4, 3, 1.0), regression(24, 8, 2, 0.01)],
        }
    )
)
