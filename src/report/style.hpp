#pragma once

namespace magva::report {

inline constexpr const char* kStyleSheet = R"css(
:root { --ink: #1c1f23; --soft: #5a6068; --paper: #fcfcfa; --line: #d9dad6; --band: #f1f1ec; --accent: #00547f; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e4e4e0; --soft: #a2a7ad; --paper: #16181b; --line: #3a3e43; --band: #202327; --accent: #7cc4ec; }
  .panels img { filter: invert(.91) hue-rotate(180deg); }
}
* { box-sizing: border-box; }
html { -webkit-text-size-adjust: 100%; }
body { margin: 0; background: var(--paper); color: var(--ink); font: 17px/1.55 Charter, "Bitstream Charter", Georgia, serif; }
main { max-width: 76rem; margin: 0 auto; padding: 2.5rem 1.5rem 4rem; }
p, ul, h1, h2, h3 { max-width: 44rem; }
h1 { font-size: 2.1rem; line-height: 1.15; margin: 0 0 1rem; }
h2 { font-size: 1.5rem; line-height: 1.2; margin: 0 0 .8rem; }
h3 { font-size: 1.12rem; margin: 2rem 0 .5rem; }
section { border-top: 1px solid var(--line); margin-top: 2.8rem; padding-top: 2rem; }
li { margin: .35rem 0; }
a { color: var(--accent); }
.soft, footer, figcaption { color: var(--soft); font-size: .9rem; }
.wide { overflow-x: auto; margin: 1.1rem 0; border: 1px solid var(--line); border-radius: 6px; max-width: max-content; }
table { border-collapse: collapse; font: 14.5px/1.35 system-ui, "Segoe UI", Roboto, "DejaVu Sans", sans-serif; font-variant-numeric: tabular-nums; }
th, td { padding: .42rem .75rem; text-align: left; vertical-align: top; }
thead th { border-bottom: 1px solid var(--line); font-weight: 600; vertical-align: bottom; color: var(--soft); max-width: 9rem; }
tbody th { font-weight: 500; position: sticky; left: 0; background: var(--paper); white-space: nowrap; }
tbody tr:nth-child(even) > * { background: var(--band); }
.n { text-align: right; }
td:not(.n) { min-width: 11rem; }
.panels { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(100%, var(--panel)), 1fr)); gap: 1rem; margin: 1.2rem 0; }
.panels img { width: 100%; height: auto; display: block; border-radius: 4px; }
@media (max-width: 40rem) {
  body { font-size: 16px; }
  main { padding: 1.4rem 1rem 3rem; }
  h1 { font-size: 1.6rem; }
  table { font-size: 13px; }
  th, td { padding: .38rem .5rem; }
  tbody th { white-space: normal; min-width: 6.5rem; }
}
@media print { section { break-inside: avoid-page; } }
)css";

}  // namespace magva::report
