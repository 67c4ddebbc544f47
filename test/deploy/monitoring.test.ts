// The dashboard and the alert rules use metrics that exist, and sections of the runbook that exist.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { parse } from 'yaml'
import { freePort } from '../../scripts/test/free-port.ts'
import { scrape } from '../support/server/metrics.ts'
import { spawnWorker } from '../support/server/process.ts'
import { startServer } from '../support/server/server.ts'

const root = join(import.meta.dirname, '../..')
const read = (path: string): string => readFileSync(join(root, path), 'utf8')

interface Rule {
  alert: string
  expr: string
  for: string
  labels: { severity: string }
  annotations: { summary: string; runbook: string }
}
interface Panel {
  title: string
  type: string
  targets?: Array<{ expr: string }>
}

const rules: Rule[] = parse(read('deploy/prometheus/alerts.yaml')).groups.flatMap((group: any) => group.rules)
const { panels }: { panels: Panel[] } = JSON.parse(read('deploy/grafana/dashboard.json'))
const expressions = [
  ...rules.map(({ alert, expr }) => ({ from: alert, expr })),
  ...panels.flatMap(({ title, targets = [] }) => targets.map(({ expr }) => ({ from: title, expr }))),
]

/** Words of PromQL that are no metrics. */
const keywords = new Set(['and', 'or', 'unless', 'bool', 'offset'])

/** The metrics of an expression: names that are neither a function nor inside braces. */
function metricsOf(expr: string): string[] {
  const bare = expr
    .replace(/\{[^}]*\}/g, '')
    .replace(/\[[^\]]*\]/g, '')
    .replace(/\b(?:by|on|without|ignoring|group_left|group_right)\s*\([^)]*\)/g, '')
  const names = [...bare.matchAll(/[a-zA-Z_:][\w:]*(?!\s*\(|[\w:])/g)].map(([name]) => name)
  // `up` is Prometheus' own.
  return names.filter((name) => !keywords.has(name) && name !== 'up')
}

t.test('every metric of the dashboard and the alert rules exists in a server or worker', async (t) => {
  const [serverPort, workerPort] = [String(await freePort()), String(await freePort())]
  const server = await startServer(t, { env: { METRICS_PORT: serverPort } })
  await server.admin.client.get('/projects')
  await spawnWorker(t, { DATABASE_URL: server.databaseUrl, DATA_DIR: t.testdir(), METRICS_PORT: workerPort })
  const ofServer = await scrape(`http://127.0.0.1:${serverPort}/metrics`)
  const ofWorker = await scrape(`http://127.0.0.1:${workerPort}/metrics`)
  const exists = (name: string): boolean =>
    [ofServer, ofWorker].some(
      ({ types }) => types.has(name) || types.get(name.replace(/_(?:bucket|count|sum)$/, '')) === 'histogram',
    )
  for (const { from, expr } of expressions) {
    const names = metricsOf(expr)
    t.ok(names.length > 0, `${from} has a metric`)
    for (const name of names) t.ok(exists(name), `${name} of ${from}`)
  }
  t.notOk(exists('http_requests_total'))
  const ofBoth = [...ofWorker.types.keys()].filter((name) => ofServer.types.has(name))
  for (const name of ['database_connections', 'dependency_up', 'event_log_position', 'job_queue_waiting'])
    t.ok(ofBoth.includes(name), `${name} is in servers and workers`)
})

t.test('each rule has a severity, a summary, a duration and a section of the runbook', async (t) => {
  const sections = [...read('docs/monitoring.md').matchAll(/^### (.+)$/gm)].map(
    ([, title]) => `docs/monitoring.md#${title.toLowerCase().replaceAll(' ', '-')}`,
  )
  t.ok(rules.length >= 10)
  t.equal(new Set(rules.map(({ alert }) => alert)).size, rules.length, 'names are unique')
  for (const { alert, for: duration, labels, annotations } of rules) {
    t.match(duration, /^\d+[mh]$/, alert)
    t.ok(['critical', 'warning', 'info'].includes(labels.severity), alert)
    t.match(annotations.summary, /\.$/, alert)
    t.ok(sections.includes(annotations.runbook), `${alert}: ${annotations.runbook}`)
  }
  for (const section of sections)
    t.ok(
      rules.some(({ annotations }) => annotations.runbook === section),
      `${section} has a rule`,
    )
})

t.test('the metrics that the documentation lists exist', async (t) => {
  const table = read('docs/monitoring.md').match(/^\| metric[^]+?\n\n/m)![0]
  const documented = [...table.matchAll(/^\| (.+?) \|/gm)].flatMap(([, cell]) =>
    [...cell.matchAll(/`([a-z_\d]+)(?:\{[^`]*)?`/g)].map(([, name]) => name),
  )
  t.ok(documented.length > 12)
  const port = String(await freePort())
  await startServer(t, { env: { METRICS_PORT: port } })
  const { types } = await scrape(`http://127.0.0.1:${port}/metrics`)
  for (const name of documented) t.ok(types.has(name), name)
})
