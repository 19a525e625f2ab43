"""Citations: BibTeX by key; every method carries its key, and ``oodometer cite METHOD`` prints the entry."""

from __future__ import annotations

from .errors import UsageError

__all__ = ["BIBTEX", "bibtex"]

BIBTEX: dict[str, str] = {}


def _add(kind: str, key: str, **fields: str) -> None:
    body = ",\n".join(f"  {name} = {{{value}}}" for name, value in fields.items())
    BIBTEX[key] = f"@{kind}{{{key},\n{body}\n}}"


_add(
    "inproceedings",
    "guo2017",
    author="Guo, Chuan and Pleiss, Geoff and Sun, Yu and Weinberger, Kilian Q.",
    title="On Calibration of Modern Neural Networks",
    booktitle="ICML",
    year="2017",
)
_add(
    "inproceedings",
    "hendrycks2017",
    author="Hendrycks, Dan and Gimpel, Kevin",
    title="A Baseline for Detecting Misclassified and Out-of-Distribution Examples in Neural Networks",
    booktitle="ICLR",
    year="2017",
)
_add(
    "inproceedings",
    "guillory2021",
    author="Guillory, Devin and Shankar, Vaishaal and Ebrahimi, Sayna and Darrell, Trevor and Schmidt, Ludwig",
    title="Predicting with Confidence on Unseen Distributions",
    booktitle="ICCV",
    year="2021",
)
_add(
    "inproceedings",
    "garg2022",
    author="Garg, Saurabh and Balakrishnan, Sivaraman and Lipton, Zachary C. and Neyshabur, Behnam and Sedghi, Hanie",
    title="Leveraging Unlabeled Data to Predict Out-of-Distribution Performance",
    booktitle="ICLR",
    year="2022",
)
_add(
    "inproceedings",
    "trivedi2023",
    author="Trivedi, Puja and Koutra, Danai and Thiagarajan, Jayaraman J.",
    title="A Closer Look at Scoring Functions and Generalization Prediction",
    booktitle="ICASSP",
    year="2023",
)
_add(
    "article",
    "ng2023",
    author="Ng, Nathan and Hulkund, Neha and Cho, Kyunghyun and Ghassemi, Marzyeh",
    title="Predicting Out-of-Domain Generalization with Neighborhood Invariance",
    journal="Transactions on Machine Learning Research",
    year="2023",
)
_add(
    "inproceedings",
    "jiang2022",
    author="Jiang, Yiding and Nagarajan, Vaishnavh and Baek, Christina and Kolter, J. Zico",
    title="Assessing Generalization of SGD via Disagreement",
    booktitle="ICLR",
    year="2022",
)
_add(
    "inproceedings",
    "kirsch2022",
    author="Kirsch, Andreas and Gal, Yarin",
    title="A Note on Assessing Generalization of SGD via Disagreement",
    booktitle="Transactions on Machine Learning Research",
    year="2022",
)
_add(
    "inproceedings",
    "liu2020",
    author="Liu, Weitang and Wang, Xiaoyun and Owens, John D. and Li, Yixuan",
    title="Energy-based Out-of-distribution Detection",
    booktitle="NeurIPS",
    year="2020",
)
_add(
    "inproceedings",
    "chen2021",
    author="Chen, Mayee and Goel, Karan and Sohoni, Nimit S. and Poms, Fait and "
    "Fatahalian, Kayvon and R{\\'e}, Christopher",
    title="Mandoline: Model Evaluation under Distribution Shift",
    booktitle="ICML",
    year="2021",
)
_add(
    "misc",
    "nannyml2022",
    author="{NannyML}",
    title="Confidence-based Performance Estimation",
    howpublished="NannyML documentation",
    year="2022",
)
_add(
    "inproceedings",
    "roschewitz2023",
    author="Roschewitz, M{\\'e}lanie and Glocker, Ben",
    title="Distance Matters For Improving Performance Estimation Under Covariate Shift",
    booktitle="ICCV Workshops",
    year="2023",
)
_add(
    "inproceedings",
    "li2022",
    author="Li, Zeju and Kamnitsas, Konstantinos and Islam, Mobarakol and Chen, Chen and Glocker, Ben",
    title="Estimating Model Performance under Domain Shifts with Class-Specific Confidence Scores",
    booktitle="MICCAI",
    year="2022",
)
_add(
    "inproceedings",
    "sun2022",
    author="Sun, Yiyou and Ming, Yifei and Zhu, Xiaojin and Li, Yixuan",
    title="Out-of-Distribution Detection with Deep Nearest Neighbors",
    booktitle="ICML",
    year="2022",
)
_add(
    "inproceedings",
    "yao2024",
    author="Yao, Yuekun and Koller, Alexander",
    title="Predicting Generalization Performance with Correctness Discriminators",
    booktitle="Findings of EMNLP",
    year="2024",
)
_add(
    "article",
    "clopper1934",
    author="Clopper, C. J. and Pearson, E. S.",
    title="The Use of Confidence or Fiducial Limits Illustrated in the Case of the Binomial",
    journal="Biometrika",
    year="1934",
)
_add(
    "inproceedings",
    "zadrozny2002",
    author="Zadrozny, Bianca and Elkan, Charles",
    title="Transforming Classifier Scores into Accurate Multiclass Probability Estimates",
    booktitle="KDD",
    year="2002",
)
_add(
    "inproceedings",
    "zadrozny2001",
    author="Zadrozny, Bianca and Elkan, Charles",
    title="Obtaining Calibrated Probability Estimates from Decision Trees and Naive Bayesian Classifiers",
    booktitle="ICML",
    year="2001",
)
_add(
    "inproceedings",
    "geifman2017",
    author="Geifman, Yonatan and El-Yaniv, Ran",
    title="Selective Classification for Deep Neural Networks",
    booktitle="NeurIPS",
    year="2017",
)
_add(
    "article",
    "brier1950",
    author="Brier, Glenn W.",
    title="Verification of Forecasts Expressed in Terms of Probability",
    journal="Monthly Weather Review",
    year="1950",
)
_add(
    "inproceedings",
    "naeini2015",
    author="Naeini, Mahdi Pakdaman and Cooper, Gregory F. and Hauskrecht, Milos",
    title="Obtaining Well Calibrated Probabilities Using Bayesian Binning",
    booktitle="AAAI",
    year="2015",
)
_add(
    "inproceedings",
    "blasiok2024",
    author="B{\\l}asiok, Jaros{\\l}aw and Nakkiran, Preetum",
    title="Smooth {ECE}: Principled Reliability Diagrams via Kernel Smoothing",
    booktitle="ICLR",
    year="2024",
)
_add(
    "inproceedings",
    "gupta2021",
    author="Gupta, Kartik and Rahimi, Amir and Ajanthan, Thalaiyasingam and Mensink, Thomas and "
    "Sminchisescu, Cristian and Hartley, Richard",
    title="Calibration of Neural Networks using Splines",
    booktitle="ICLR",
    year="2021",
)
_add(
    "inproceedings",
    "kumar2019",
    author="Kumar, Ananya and Liang, Percy and Ma, Tengyu",
    title="Verified Uncertainty Calibration",
    booktitle="NeurIPS",
    year="2019",
)
_add(
    "inproceedings",
    "nguyen2015",
    author="Nguyen, Khanh and O'Connor, Brendan",
    title="Posterior Calibration and Exploratory Analysis for Natural Language Processing Models",
    booktitle="EMNLP",
    year="2015",
)
_add(
    "inproceedings",
    "geifman2019",
    author="Geifman, Yonatan and Uziel, Guy and El-Yaniv, Ran",
    title="Bias-Reduced Uncertainty Estimation for Deep Neural Classifiers",
    booktitle="ICLR",
    year="2019",
)
_add(
    "inproceedings",
    "traub2024",
    author='Traub, Jeremias and Bungert, Till J. and L{\\"u}th, Carsten T. and Baumgartner, Michael '
    "and Maier-Hein, Klaus H. and Maier-Hein, Lena and Jaeger, Paul F.",
    title="Overcoming Common Flaws in the Evaluation of Selective Classification Systems",
    booktitle="NeurIPS",
    year="2024",
)
_add(
    "inproceedings",
    "kamath2020",
    author="Kamath, Amita and Jia, Robin and Liang, Percy",
    title="Selective Question Answering under Domain Shift",
    booktitle="ACL",
    year="2020",
)
_add(
    "article",
    "stephenson2008",
    author="Stephenson, D. B. and Coelho, C. A. S. and Jolliffe, I. T.",
    title="Two Extra Components in the {Brier} Score Decomposition",
    journal="Weather and Forecasting",
    year="2008",
)
_add(
    "article",
    "good1952",
    author="Good, I. J.",
    title="Rational Decisions",
    journal="Journal of the Royal Statistical Society, Series B",
    year="1952",
)
_add(
    "article",
    "sokolova2009",
    author="Sokolova, Marina and Lapalme, Guy",
    title="A Systematic Analysis of Performance Measures for Classification Tasks",
    journal="Information Processing and Management",
    year="2009",
)


def bibtex(key: str) -> str:
    """The BibTeX entry under a key; `UsageError` names the keys when there is none.

    >>> bibtex("garg2022").splitlines()[0]
    '@inproceedings{garg2022,'
    """
    if key not in BIBTEX:
        raise UsageError(f"unknown citation {key!r}; known: {', '.join(sorted(BIBTEX))}")
    return BIBTEX[key]
