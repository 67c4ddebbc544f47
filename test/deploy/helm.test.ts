// The templates of deploy/helm, rendered by a small part of Helm's language, are the objects that Kubernetes
// must get. Helm itself does not render them here.
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { parse, parseAllDocuments, stringify } from 'yaml'

const chart = join(import.meta.dirname, '../../deploy/helm')
const values = parse(readFileSync(join(chart, 'values.yaml'), 'utf8'))
const release = { Name: 'shop' }
const about = parse(readFileSync(join(chart, 'Chart.yaml'), 'utf8'))
const scope: any = { Values: values, Release: release, Chart: { AppVersion: about.appVersion } }

const helpers = new Map(
  [
    ...readTemplate('_helpers.tpl').matchAll(
      /\{\{- define "(.*?)" -\}\}\n(.*?)\n\{\{- end \}\}(?=\n\n|\n$)/gs,
    ),
  ].map(([, name, body]) => [name, body]),
)

function readTemplate(name: string): string {
  return readFileSync(join(chart, 'templates', name), 'utf8')
}

function render(template: string, variables: Record<string, unknown> = {}): string {
  const loop = /\s*\{\{- range \$name, \$value := (\S+) \}\}(.*?)\{\{- end \}\}/gs
  return template
    .replace(loop, (_all, list: string, body: string) =>
      Object.entries(valueOf(list, {}) as object)
        .map(([$name, $value]) => render(body, { $name, $value }).trimEnd())
        .join(''),
    )
    .replace(/(\s*)\{\{(-?) (.*?) (-?)\}\}/g, (_all, space: string, trim: string, action: string) => {
      return (trim === '-' ? '' : space) + String(evaluate(action, variables))
    })
}

function evaluate(action: string, variables: Record<string, unknown>): unknown {
  const [first, ...filters] = action.split(' | ')
  return filters.reduce(
    (input, filter) => {
      const [name, argument] = filter.split(' ')
      if (name === 'quote') return JSON.stringify(String(input))
      if (name === 'default') return input === '' ? valueOf(argument, variables) : input
      if (name === 'nindent')
        return `\n${String(input).trimEnd()}`.replace(/\n/g, `\n${' '.repeat(Number(argument))}`)
      throw new Error(`unknown filter ${filter}`)
    },
    call(first, variables),
  )
}

function call(expression: string, variables: Record<string, unknown>): unknown {
  const [name, ...rest] = expression.split(' ')
  if (name === 'include') return render(helpers.get(rest[0].slice(1, -1)) ?? fail(expression))
  if (name === 'toYaml') return stringify(valueOf(rest[0], variables))
  if (name === 'add') return rest.reduce((sum, each) => sum + Number(valueOf(each, variables)), 0)
  return valueOf(name, variables)
}

function valueOf(path: string, variables: Record<string, unknown>): unknown {
  if (path in variables) return variables[path]
  if (/^\d+$/.test(path)) return Number(path)
  const value = path
    .slice(1)
    .split('.')
    .reduce((at: any, key) => at?.[key], scope)
  return value ?? fail(path)
}

function fail(what: string): never {
  throw new Error(`the chart does not define ${what}`)
}

const objects = readdirSync(join(chart, 'templates'))
  .filter((name) => name.endsWith('.yaml'))
  .flatMap((name) => parseAllDocuments(render(readTemplate(name))).map((document) => document.toJS()))

const named = (kind: string, name: string): any =>
  objects.find((each) => each.kind === kind && each.metadata.name === name)

t.test('the objects of a release', (t) => {
  t.strictSame(objects.map(({ kind, metadata }) => `${kind} ${metadata.name}`).sort(), [
    'Deployment shop-server',
    'Deployment shop-worker',
    'Job shop-migrate',
    'PodDisruptionBudget shop-server',
    'Service shop',
  ])
  t.equal(named('Job', 'shop-migrate').metadata.annotations['helm.sh/hook'], 'pre-install,pre-upgrade')
  t.end()
})

t.test('every pod may do as little as possible', (t) => {
  const pods = objects.filter(({ spec }) => spec.template !== undefined).map(({ spec }) => spec.template.spec)
  t.equal(pods.length, 3)
  for (const pod of pods) {
    const [container] = pod.containers
    t.match(pod.securityContext, { runAsNonRoot: true, runAsUser: 1000 })
    t.match(container.securityContext, { readOnlyRootFilesystem: true, capabilities: { drop: ['ALL'] } })
    t.strictSame(container.image, `registry.example.com/platform-api:${about.appVersion}`)
    t.strictSame(container.envFrom, [{ secretRef: { name: 'platform-api' } }])
    t.ok(container.resources.limits.memory)
    const env = Object.fromEntries(container.env.map(({ name, value }: any) => [name, value]))
    t.match(env, { MIGRATE: 'false', SHUTDOWN_DELAY: '10', STORAGE: 's3', TRUST_PROXY: '10.0.0.0/8' })
    for (const value of Object.values(env)) t.type(value, 'string')
  }
  t.end()
})

t.test('a stopping server leaves the service before it stops', (t) => {
  const { spec, metadata } = named('Deployment', 'shop-server').spec.template
  const [{ readinessProbe: ready, livenessProbe: alive, args, ports }] = spec.containers
  t.strictSame(args, ['serve'])
  t.match([ready.httpGet.path, alive.httpGet.path], ['/readyz', '/healthz'])
  t.ok(ready.periodSeconds * ready.failureThreshold < values.shutdownDelay)
  t.ok(spec.terminationGracePeriodSeconds > values.shutdownDelay + values.shutdownTimeout)
  t.strictSame(ports[0].containerPort, 3000)
  const { selector } = named('Service', 'shop').spec
  t.match(metadata.labels, selector)
  t.match(metadata.labels, named('PodDisruptionBudget', 'shop-server').spec.selector.matchLabels)
  t.strictSame(named('Deployment', 'shop-worker').spec.template.spec.containers[0].args, ['worker'])
  t.notMatch(named('Deployment', 'shop-worker').spec.template.metadata.labels, selector)
  t.end()
})

t.test('the chart is for this version', (t) => {
  const { version } = JSON.parse(readFileSync(join(chart, '../../package.json'), 'utf8'))
  t.equal(about.appVersion, version)
  t.end()
})
