// Reads the metrics of a process in the Prometheus text format.

const sample =
  /^([a-zA-Z_:][\w:]*)(?:\{((?:[a-zA-Z_]\w*="(?:[^"\\]|\\.)*",?)*)\})? (-?[\d.e+-]+|[Nn]a[Nn]|[+-]Inf)$/
const suffix = /_(?:bucket|sum|count)$/

export interface Scrape {
  /** The type of each metric: counter, gauge, histogram or summary. */
  types: Map<string, string>
  /** The names of the samples, with the suffixes of histograms. */
  samples: Set<string>
}

/** @throws on a line that is not valid, and on a sample without HELP and TYPE. */
export async function scrape(url: string): Promise<Scrape> {
  const text = await (await fetch(url)).text()
  const types = new Map<string, string>()
  const samples = new Set<string>()
  for (const line of text.split('\n').filter(Boolean)) {
    const declared = /^# TYPE (\S+) (\w+)$/.exec(line)
    if (declared !== null) types.set(declared[1], declared[2])
    if (line.startsWith('#')) continue
    const [, name] = sample.exec(line) ?? []
    if (name === undefined) throw new Error(`not a sample: ${line}`)
    if (!types.has(name) && !types.has(name.replace(suffix, ''))) throw new Error(`no type: ${line}`)
    samples.add(name)
  }
  return { types, samples }
}
