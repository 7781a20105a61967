r"""Why WDRBO falls behind on Ackley: the same method with smaller balls.

    windward bench run micheli2025-fig2 --problems Ackley --seeds 5 --with benchmarks/wdrbo_radius.py \
        --methods "ERBO,WDRBO,WDRBO a third,WDRBO a tenth,WDRBO a hundredth" --out bench-results/wdrbo-radius

The paper's radius is 0.3 / sqrt(t). With a radius of 0 WDRBO is ERBO.
"""

import windward as ww

METHODS = {
    "WDRBO a third": lambda problem: ww.papers.wdrbo(radius=ww.Decay(0.1, 0.5)),
    "WDRBO a tenth": lambda problem: ww.papers.wdrbo(radius=ww.Decay(0.03, 0.5)),
    "WDRBO a hundredth": lambda problem: ww.papers.wdrbo(radius=ww.Decay(0.003, 0.5)),
}
