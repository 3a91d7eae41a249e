"""The page of `tools/demo day --html FILE`: the two pictures that a real pool was shown with, ours beside them: waits of
clusters, and GPUs of nodes against GPUs in use.

Of the real pool these numbers were published, and no series: shares of waits, means, GPU-hours. The page says so. It is
one file without scripts that asks for nothing; light and dark follow the reader. Only the standard library."""

import html

from day_events import GPUS_PER_NODE, percentile, steps

WIDTH, HEIGHT, LEFT, BOTTOM = 360, 170, 34, 26
BINS = (2, 5, 60, 326)  # those whose shares were published
# GPU-hours of 108 minutes, from a quarter of an hour before the run of 78 minutes to a quarter after it. Shares of pods: 59.7 % waited for 2 s at most, 72.0 % for 5 s, 91.1 % for a minute, 99 % for 326 s.
MEASURED_SHARES = ((2, 0.597), (5, 0.72), (60, 0.911), (326, 0.99))
MEASURED = {"median": 2, "mean": 22.35, "p99": 326, "used": 15.21, "charged": 23.94, "minutes": 108}

HEAD = """<!doctype html><html lang="en"><head><meta charset="utf-8"/>
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'"/>
<title>A day of many tenants</title>
"""

INTRODUCTION = """<h1>A day of many tenants</h1><p class="pale">Pictures: one day (seed 1) in virtual time, beside what was
published of a real pool. Ours are waits of whole clusters of three GPUs each.</p>
"""

STYLE = """
:root { color-scheme: light dark; --ink: #1b1f24; --pale: #6b7580; --paper: #ffffff; --grid: #dde2e7; --one: #2f6fb2; --two: #c9863a; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6e9ec; --pale: #98a2ac; --paper: #15181c; --grid: #2d343b; --one: #6ea8e6; --two: #e0a765; } }
body { background: var(--paper); color: var(--ink); font: 15px/1.5 system-ui, sans-serif; max-width: 1180px; margin: 2rem auto; padding: 0 1rem; }
.row { display: grid; grid-template-columns: repeat(auto-fit, minmax(320px, 1fr)); gap: 1rem; }
figure { margin: 0; break-inside: avoid; } figcaption, .pale { color: var(--pale); }
svg { width: 100%; height: auto; } text { fill: var(--pale); font-size: 11px; }
table { border-collapse: collapse; } th, td { padding: .2rem .8rem .2rem 0; text-align: right; } th:first-child, td:first-child { text-align: left; }
th { border-bottom: 1px solid var(--grid); color: var(--pale); font-weight: 500; }
"""


def y_of(share):
    return HEIGHT - BOTTOM - share * (HEIGHT - BOTTOM - 14)


def frame(inner, label):
    return (f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{html.escape(label)}">{inner}'
            f'<line x1="{LEFT}" y1="{HEIGHT - BOTTOM}" x2="{WIDTH}" y2="{HEIGHT - BOTTOM}" stroke="var(--grid)"/></svg>')


def shares_up_to(waits):
    return [(edge, sum(wait <= edge for wait in waits) / max(1, len(waits))) for edge in BINS]


def wait_bars(shares, label):
    """Of (seconds, share of waits up to there): a bar for each range, and one for the rest."""
    parts, before, last = [], 0.0, 0
    for edge, share in shares:
        parts.append((f"{last}–{edge} s", share - before))
        before, last = share, edge
    parts.append((f"> {last} s", 1 - before))
    width = (WIDTH - LEFT) / len(parts)
    inner = ""
    for at, (name, share) in enumerate(parts):
        x = LEFT + at * width
        inner += (f'<rect x="{x + 3:.1f}" y="{y_of(share):.1f}" width="{width - 6:.1f}" height="{HEIGHT - BOTTOM - y_of(share):.1f}" '
                  f'fill="var(--one)"><title>{name}: {100 * share:.1f} %</title></rect>'
                  f'<text x="{x + width / 2:.1f}" y="{HEIGHT - 10}" text-anchor="middle">{name}</text>'
                  f'<text x="{x + width / 2:.1f}" y="{y_of(share) - 3:.1f}" text-anchor="middle">{100 * share:.0f} %</text>')
    return frame(inner, label)


def histogram(waits, width, end, label):
    """Shares of waits in equal ranges of `width` seconds until `end`; the last bar has the rest."""
    count = end // width
    counts = [0] * (count + 1)
    for wait in waits:
        counts[min(int(wait // width), count)] += 1
    step = (WIDTH - LEFT) / (count + 1)
    inner = ""
    for at, number in enumerate(counts):
        share = number / max(1, len(waits))
        name = f"{at * width}–{(at + 1) * width} s" if at < count else f"{end} s and more"
        inner += (f'<rect x="{LEFT + at * step + 0.5:.1f}" y="{y_of(share):.1f}" width="{step - 1:.1f}" '
                  f'height="{HEIGHT - BOTTOM - y_of(share):.1f}" fill="var(--one)"><title>{name}: {100 * share:.1f} %</title></rect>')
    for at in (0, count // 2, count):
        anchor = "start" if at == 0 else "middle"
        inner += f'<text x="{LEFT + at * step:.1f}" y="{HEIGHT - 10}" text-anchor="{anchor}">{at * width} s</text>'
    for share in (0, 0.5, 1):
        inner += f'<text x="{LEFT - 5}" y="{y_of(share) + 4:.1f}" text-anchor="end">{100 * share:.0f} %</text>'
    return frame(inner, label)


def gpu_lines(nodes, used, end, most, label):
    """Two series of equal steps until `end` seconds."""
    def path(values, colour):
        points = " ".join(f"{LEFT + (at + 0.5) * (WIDTH - LEFT) / len(values):.1f},{y_of(value / most):.1f}"
                          for at, value in enumerate(values))
        return f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="1.6"/>'

    inner = path(nodes, "var(--two)") + path(used, "var(--one)")
    for value in (0, most / 2, most):
        inner += f'<text x="{LEFT - 5}" y="{y_of(value / most) + 4:.1f}" text-anchor="end">{value:.0f}</text>'
    for part in (0, 0.5, 1):
        anchor = ("start", "middle", "end")[int(part * 2)]
        inner += (f'<text x="{LEFT + part * (WIDTH - LEFT):.0f}" y="{HEIGHT - 10}" text-anchor="{anchor}">'
                  f'{part * end / 60:.0f} min</text>')
    return frame(inner, label)


def figure(picture, caption):
    return f"<figure>{picture}<figcaption>{html.escape(caption)}</figcaption></figure>"


def day_figures(name, day, gpus, most):
    waits = day.waits()
    end = max(stop for _, _, stop in day.runs)
    used = [(start, stop, gpus[line]) for line, start, stop in day.runs]
    nodes = [(since, min(gone, end), GPUS_PER_NODE) for since, gone in day.nodes if since < end]
    charged = day.charged_hours()
    hours = sum((stop - start) * gpu for start, stop, gpu in used) / 3600
    count = 120
    return (figure(wait_bars(shares_up_to(waits), f"waits, {name}"),
                   f"{name}: median {percentile(waits, 0.5):.0f} s, mean {sum(waits) / max(1, len(waits)):.1f} s, "
                   f"p99 {percentile(waits, 0.99):.0f} s"),
            figure(gpu_lines(steps(nodes, end, count), steps(used, end, count), end, most, f"GPUs, {name}"),
                   f"{name}: {hours:.1f} of {charged:.1f} GPU-hours used, {100 * hours / max(charged, 1e-9):.0f} %"))


def histograms(name, day):
    """The picture of the source, in its two widths: 30 s for all waits, 2 s for the first minute."""
    waits = day.waits()
    return (figure(histogram(waits, 30, 360, f"waits by 30 s, {name}"), f"{name}: ranges of 30 s"),
            figure(histogram([wait for wait in waits if wait < 60], 2, 60, f"waits by 2 s, {name}"),
                   f"{name}: ranges of 2 s, of the {sum(wait < 60 for wait in waits)} waits below a minute"))


def measured_figures(most):
    end = MEASURED["minutes"] * 60
    mean = {key: [MEASURED[key] / (end / 3600)] * 120 for key in ("used", "charged")}
    return (figure(wait_bars(MEASURED_SHARES, "waits, measured"),
                   "measured on a real pool: median 2 s, mean 22.4 s, p99 326 s (shares as published; of pods)"),
            figure(gpu_lines(mean["charged"], mean["used"], end, most, "GPUs, measured"),
                   "measured on a real pool: 15.2 of 23.9 GPU-hours used, 64 % (means of 108 minutes, 8.4 and 13.3 GPUs: the series was "
                   "not published)"))


def table(rows):
    head = "<tr><th>days</th><th>median wait</th><th>mean</th><th>p99</th><th>used</th><th>GPU-hours used</th><th>charged</th></tr>"
    body = "".join(f"<tr><td>{html.escape(name)}</td><td>{figures['median']:.1f} s</td><td>{figures['mean']:.1f} s</td>"
                   f"<td>{figures['p99']:.0f} s</td><td>{100 * figures['gpu_hours'] / figures['charged']:.1f} %</td>"
                   f"<td>{figures['gpu_hours']:.2f}</td><td>{figures['charged']:.2f}</td></tr>" for name, figures in rows)
    return f"<table>{head}{body}</table>"


def page(rows, days, gpus, seeds):
    """`rows`: (name, mean figures) of the table; `days`: (name, Day) of the pictures; `gpus`: of each line."""
    most = 2 * max(8, max(int(sum(1 for since, gone in day.nodes if since <= at < gone))
                          for _, day in days for at in [since for since, _ in day.nodes]))
    columns = [measured_figures(most)] + [day_figures(name, day, gpus, most) for name, day in days]
    waits = "".join(column[0] for column in columns)
    lines = "".join(column[1] for column in columns)
    ranges = "".join(picture for name, day in days for picture in histograms(name, day))
    return (HEAD + f"<style>{STYLE}</style></head><body>" + INTRODUCTION +
            f'<h2>Waits</h2><div class="row">{waits}</div>'
            f'<h2>Waits in the ranges of the source</h2><p class="pale">Its picture has ranges of 30 s and of 2 s; of these '
            f'only the shares above were published.</p><div class="row">{ranges}</div>'
            f'<h2>GPUs of registered nodes (brown) and GPUs in use (blue)</h2><div class="row">{lines}</div>'
            f'<h2>Each lever by itself</h2><p class="pale">Means of {seeds} days.</p>{table(rows)}</body></html>\n')
