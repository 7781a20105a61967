"""What a reader takes away from each paper: what its abstract promises, by the sentences that its experiments say it with.

One or two orders for each paper, and the table it prints where its numbers can be compared with those here.
"""

from __future__ import annotations

from windward.bench.experiment import Headline
from windward.bench.experiments.verma import SMALLER, TUNED

LARGE = 'Sec. 6: "especially for large values of rho"'

HEADLINES: tuple[Headline, ...] = (
    Headline(
        paper="Huang2024",
        says="SBO-KDE and DRBO-KDE do better than the four other methods",
        said='Sec. 4.2 and 4.3: "outperform all the other baselines"',
        of=("huang2024-fig1",),
        claims=lambda claim: "outperform all the other baselines" in claim.said,
    ),
    Headline(
        paper="Huang2024",
        says="DRBO-KDE does better than SBO-KDE where the distribution of contexts is complicated",
        said='Sec. 4.2: "DRBO-KDE performs better"',
        of=("huang2024-fig1-300",),
        claims=lambda claim: "DRBO-KDE performs better" in claim.said,
    ),
    Headline(
        paper="Huang2024",
        says="the distance of the density estimate to the truth",
        said="Table 2",
        of=("huang2024-table2",),
    ),
    Headline(
        paper="Micheli2025",
        says="WDRBO does better than ERBO where the learner's distribution is wrong",
        said='Sec. 5: "a lower cumulative regret than ERBO"',
        of=("micheli2025-fig1",),
        claims=lambda claim: "lower cumulative regret than ERBO" in claim.said,
    ),
    Headline(
        paper="Micheli2025",
        says="WDRBO does better than GP-UCB and DRBO-KDE where the distribution is learnt",
        said='Sec. 5: "extremely compelling"',
        of=("micheli2025-fig2",),
        claims=lambda claim: (claim.first, claim.relation) == ("WDRBO", "ahead"),
    ),
    Headline(
        paper="Tay2024",
        says="TS-BOCU has less regret than Random, UCB-SO and UCB-BOCU-1 in most settings",
        said='Sec. 5: "a low cumulative regret relative to the baselines in most settings"',
        of=("tay2024-fig2",),
        claims=lambda claim: claim.first == "TS-BOCU",
    ),
    Headline(
        paper="Verma2022",
        says="GP-UCB-SDF finds better decisions than GP-UCB and GP-BUCB where results come late",
        said=SMALLER,
        of=("verma2022-fig1",),
        claims=lambda claim: claim.said == SMALLER,
    ),
    Headline(
        paper="Verma2022",
        says="GP-UCB-SDF and GP-TS-SDF tune models better than the four other methods",
        said=TUNED,
        of=("verma2022-fig2", "verma2022-fig3"),
        claims=lambda claim: claim.said == TUNED,
    ),
    Headline(
        paper="Verma2022",
        says="the error of the tuned SVM",
        said="recorded runs of Fig. 2",
        of=("verma2022-fig2",),
    ),
    Headline(
        paper="Nguyen2020",
        says="DRBQO has less rho-regret than the five other methods",
        said='Sec. 6: "significantly outperforms the baselines"',
        of=("nguyen2020-fig3",),
        claims=lambda claim: "significantly outperforms" in claim.said,
    ),
    Headline(
        paper="Nguyen2020",
        says="models tuned by DRBQO with a large rho have a smaller test error",
        said=LARGE,
        of=("nguyen2020-table1",),
        claims=lambda claim: claim.said == LARGE,
    ),
)
