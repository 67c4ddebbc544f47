// `npm run generate`: writes generated/ from spec/, prisma/schema.prisma and prisma/sql, and the second part
// of docs/database.md from the migrated database.
//   --check   writes nothing and fails if a file is out of date
//   --types   writes only the types, which are not in git; the set-up of development does it
//   --stubs   also writes a stub for each operation without a handler
//   --spec F  another root document; --out D another folder (for benchmarks and tests)
import { parseArgs } from 'node:util'
import { dirname, join, relative, resolve } from 'node:path'
import { existsSync, readFileSync } from 'node:fs'
import { mkdir, readdir, rm, utimes, writeFile } from 'node:fs/promises'
import compactJson from 'json-stringify-pretty-compact'
import { clientTypes } from '../../services/docs/client-types.ts'
import { emitDocsData, readGuides } from './docs-data.ts'
import { emitClient } from './client.ts'
import { emitPythonClient } from './client-python.ts'
import { emitConsole, emitConsoleModel } from './console.ts'
import { removeDatabaseNotes, requireDatabaseMatch } from './schema-db-check.ts'
import { formatProblem, readContract, requireAllUsed, unusedParts } from './contract.ts'
import { emitResources, takeResources, type CrudResource } from './crud/resources.ts'
import { resourceStatements } from './crud/statements.ts'
import { addDeprecations } from './deprecation.ts'
import { GenerateError } from './error.ts'
import { addErrorCodes, emitErrorCodes } from './errors.ts'
import { addEvents, emitEvents, eventUnions } from './events.ts'
import { operationsOf, type Operation } from './model.ts'
import { withPatchOperations } from './patch-operations.ts'
import { withWholeAlternatives } from '@platform-api/openapi/alternatives.ts'
import { exactDocument, publishedDocument } from './publish.ts'
import { banner, emitOperations, emitRoutes, emitTypes } from './types.ts'
import { compile } from '../compile/compile.ts'
import type { Compilers } from '../compile/validators.ts'
import { emitSchemas, plainSchemas, Pool, schemasOf } from './schemas.ts'
import { generatePrisma, stalePrisma } from './prisma.ts'
import { generateSql, staleSql } from './sql/sql.ts'
import { missingFilters } from './sql/missing-filters.ts'
import { unusedFiles } from './sql/unused.ts'
import { writeStubs } from './stubs.ts'
import { answerHelp, messageOf } from '../../infra/command-help.ts'

answerHelp(import.meta)

const ownRoot = resolve(import.meta.dirname, '../..')
/** The extensions that the generator has carried out. */
const unpublished = new Set([
  'x-implied-parameters',
  'x-implied-responses',
  'x-implied-headers',
  'x-implied-security',
  'x-events',
])

export interface Emitted {
  operations: Operation[]
  resources: CrudResource[]
  /**
   * The files that a server loads, by name.
   * @param compilers those of an earlier call, to compile only what has changed.
   */
  served(compilers?: Compilers): Map<string, string>
  /** The files for compilers only, by name. They are not in git. */
  types(): Promise<Map<string, string>>
  /** The files of the client and of the console. @param types the files for compilers. */
  clients(types: Map<string, string>): Promise<Map<string, string>>
}

/** All files of generated/ that come from the spec, by name. */
export async function emitAll(
  spec: string,
  root = ownRoot,
): Promise<{ files: Map<string, string>; operations: Operation[]; resources: CrudResource[] }> {
  const { operations, resources, served, types, clients } = await emit(spec, { root })
  const ofCompilers = await types()
  const files = new Map([...served(), ...(await clients(ofCompilers)), ...ofCompilers])
  return { operations, resources, files }
}

/**
 * @param root the project's folder. Default: the one that this file belongs to.
 * @param matched compares the spec with the database.
 */
export async function emit(spec: string, { root = ownRoot, matched = true } = {}): Promise<Emitted> {
  const open = await readContract(spec)
  if (matched && spec === join(root, 'spec/openapi.yaml')) await requireDatabaseMatch(root, open)
  const resources = takeResources(open)
  const isReplaced = (file: string): boolean => existsSync(join(root, file))
  const statements = resourceStatements(open, resources, isReplaced)
  removeDatabaseNotes(open)
  const events = addEvents(open)
  const codes = addErrorCodes(open)
  addDeprecations(open)
  const document = exactDocument(open)
  const operations = operationsOf(document)
  const { parameters, bodies, responses, names } = schemasOf(operations)
  // Before the compilation: it adds the objects and payloads of events to the pools.
  const payloads = new Pool('payload')
  const eventTable = emitEvents(events, responses, payloads)
  const schemas = plainSchemas(document, {
    parameters,
    bodies,
    responses: responses.schemas,
    payloads: payloads.schemas,
  })
  const answers = withWholeAlternatives(publishedDocument(open), 'omitted')
  const published = {
    ...Object.fromEntries(Object.entries(answers).filter(([key]) => !unpublished.has(key))),
    paths: withPatchOperations(answers.paths),
  }
  const project = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
  return {
    operations,
    resources,
    served: (compilers) =>
      new Map([
        ...statements,
        ['resources.ts', emitResources(resources)],
        ['openapi.json', `${compactJson(published, { maxLength: 110 })}\n`],
        [
          'docs.json',
          emitDocsData(document, {
            operations,
            codes,
            events,
            client: `@${project.name}/client`,
            guides: readGuides(root),
          }),
        ],
        ['operations.ts', emitOperations(operations, names, document)],
        ['events.ts', eventTable],
        ['error-codes.ts', emitErrorCodes(codes)],
        ['routes.ts', emitRoutes(operations)],
        ['schemas.json', emitSchemas(schemas)],
        ...compile(schemas, compilers),
      ]),
    types: async () =>
      new Map([
        ['types.ts', await emitTypes(withWholeAlternatives(document, 'never'), eventUnions(events))],
        ['client/types.d.ts', clientTypes(published)],
        ...emitConsoleModel(document, operations),
      ]),
    async clients(types) {
      const client = emitClient(document, operations, {
        types: types.get('client/types.d.ts')!,
        project,
        existing: (name) => textOf(join(root, 'generated/client'), name),
      })
      const python = emitPythonClient(document, operations, { published, project })
      const console = await emitConsole(new Map([...types, ...client]))
      return new Map([...declarations, ...client, ...python, ...console])
    },
  }
}

const declarations = new Map([
  [
    'validators.d.ts',
    declaration(
      'validators',
      "import('ajv').ValidateFunction",
      'Validators for the parts of a request, by the names in the table of operations.',
    ),
  ],
  [
    'serializers.d.ts',
    declaration(
      'serializers',
      '(body: unknown) => string',
      'Serializers for response bodies. They omit fields that the spec does not declare.',
    ),
  ],
])

function declaration(name: string, type: string, comment: string): string {
  const lines = [
    `/** ${comment} */`,
    `declare const ${name}: Record<string, ${type}>`,
    `export default ${name}`,
  ]
  return `${banner}${lines.join('\n')}\n`
}

interface Options {
  check?: boolean
  types?: boolean
  stubs?: boolean
  spec?: string
  out?: string
  /** The project's folder; for tests. */
  root?: string
}

/** `wrote` are files in generated/; `stubs` are lines about stubs and unused handlers; `notes` as below. */
interface Generated {
  operations: number
  wrote: string[]
  stubs: string[]
  notes: string[]
}

/**
 * @returns the lines to print.
 * @throws GenerateError before any file is written.
 */
export async function generate(options: Options): Promise<string[]> {
  if (options.check) return await checkGenerated(options)
  if (options.types) return await writeTypes()
  const started = process.cpuUsage()
  const { operations, wrote, stubs, notes } = await writeGenerated(options)
  const { user, system } = process.cpuUsage(started)
  const seconds = ((user + system) / 1e6).toFixed(1)
  const result = wrote.length === 0 ? 'nothing changed' : `wrote ${wrote.join(', ')}`
  return [
    ...stubs,
    ...notes,
    `${operations} operations in ${relative(rootOf(options), specOf(options))}: ` +
      `${result} (${seconds} s of CPU)`,
  ]
}

/** @throws GenerateError before any file is written. */
async function writeGenerated(options: Options): Promise<Generated> {
  const { files, operations, resources } = await emitAll(specOf(options), rootOf(options))
  const database = options.out === undefined ? await generateDatabaseFiles(files) : []
  const wrote = [...database, ...(await write(outOf(options), files))]
  // Everything in generated/ belongs to the generator; a folder given with --out may contain other files.
  if (options.out === undefined) {
    await removeUnknownFiles(files)
    await markTypes()
  }
  return {
    operations: operations.length,
    wrote,
    stubs: options.stubs ? await writeStubs(rootOf(options), operations, resources) : [],
    notes: options.out === undefined ? await notesOn(operations) : [],
  }
}

/** Writes the files that are not in git and leaves the others. scripts/setup calls it. @returns nothing. */
async function writeTypes(): Promise<string[]> {
  const { types } = await emit(specOf({}), { matched: false })
  await generatePrisma(ownRoot, 'types')
  await write(outOf({}), await types())
  await markTypes()
  return []
}

/** Makes types.ts the newest file: scripts/setup writes the types again when a source of them is newer. */
async function markTypes(): Promise<void> {
  const now = new Date()
  await utimes(join(outOf({}), 'types.ts'), now, now)
}

/**
 * Writes the files that a server loads. `writeTypes` writes the others. Both return the names of changed
 * files. `notes` are about parts of spec/ and files of prisma/sql.
 * @throws GenerateError before any file is written.
 */
export async function writeServed(
  compilers: Compilers,
): Promise<{ wrote: string[]; writeTypes: () => Promise<{ wrote: string[]; notes: string[] }> }> {
  const out = outOf({})
  const { operations, served, types, clients } = await emit(specOf({}))
  const files = served(compilers)
  const wrote = [...(await generateDatabaseFiles(files)), ...(await write(out, files))]
  return {
    wrote,
    async writeTypes() {
      const notes = await notesOn(operations)
      const ofCompilers = await types()
      const others = new Map([...(await clients(ofCompilers)), ...ofCompilers])
      const written = await write(out, others)
      await removeUnknownFiles(new Map([...files, ...others]))
      await markTypes()
      return { wrote: written, notes }
    },
  }
}

/** The parts of spec/ and the files of prisma/sql that nothing uses, and the filters that lists lack. */
async function notesOn(operations: Operation[]): Promise<string[]> {
  const unused = (await unusedParts(specOf({}))).map(formatProblem)
  return [...unused, ...unusedFiles(ownRoot), ...missingFilters(ownRoot, operations)]
}

/** The Prisma client and the functions for prisma/sql and the resources. @returns what it wrote. */
async function generateDatabaseFiles(files: Map<string, string>): Promise<string[]> {
  const statements = new Map([...files].filter(([name]) => name.startsWith('resources/')))
  await write(outOf({}), statements)
  for (const name of await resourceFiles(outOf({})))
    if (!statements.has(name)) await rm(join(outOf({}), name))
  return [...(await generatePrisma(ownRoot)), ...(await generateSql(ownRoot))]
}

async function removeUnknownFiles(files: Map<string, string>): Promise<void> {
  const out = outOf({})
  for (const name of await unknownFiles(out, files)) await rm(join(out, name), { recursive: true })
}

async function checkGenerated(options: Options): Promise<string[]> {
  const { files, operations } = await emitAll(specOf(options), rootOf(options))
  await requireAllUsed(specOf(options))
  const stale = [
    ...(options.out === undefined ? [...(await stalePrisma(ownRoot)), ...(await staleSql(ownRoot))] : []),
    ...(await differing(outOf(options), files)),
  ]
  if (stale.length > 0)
    throw new GenerateError(`Out of date; run \`npm run generate\`:\n  ${stale.join('\n  ')}`)
  return [`generated/ is up to date (${operations.length} operations)`]
}

const rootOf = (options: Options): string => options.root ?? ownRoot
const specOf = (options: Options): string =>
  resolve(options.spec ?? join(rootOf(options), 'spec/openapi.yaml'))
const outOf = (options: Options): string => resolve(options.out ?? join(rootOf(options), 'generated'))

/** @returns the names of the files that it changed. */
async function write(out: string, files: Map<string, string>): Promise<string[]> {
  await mkdir(out, { recursive: true })
  const changed: string[] = []
  for (const [name, text] of files) {
    if (textOf(out, name) === text) continue
    await mkdir(dirname(join(out, name)), { recursive: true })
    await writeFile(join(out, name), text)
    changed.push(name)
  }
  return changed
}

async function differing(out: string, files: Map<string, string>): Promise<string[]> {
  const found: string[] = []
  for (const [name, text] of files) {
    const current = textOf(out, name)
    if (current !== text) found.push(`generated/${name}${current === null ? ' (missing)' : ''}`)
  }
  return [...found, ...(await unknownFiles(out, files)).map((name) => `generated/${name} (not generated)`)]
}

/** The files in the folder that the generator does not write. */
async function unknownFiles(out: string, files: Map<string, string>): Promise<string[]> {
  const filesIn = async (folder: string): Promise<string[]> =>
    (await readdir(join(out, folder)).catch(() => [])).map((name) => `${folder}/${name}`)
  const python = await filesIn('client-python')
  const inside = [...(await filesIn('client')), ...python, ...(await filesIn('console'))]
    .concat(await filesIn('client-python/platform_api'))
    .filter((name) => name !== 'client-python/platform_api' && !name.endsWith('/__pycache__'))
  const folders = ['client', 'client-python', 'console', 'prisma', 'sql', 'resources']
  const top = (await readdir(out)).filter((name) => !folders.includes(name))
  return [...top, ...inside, ...(await resourceFiles(out))].filter((name) => !files.has(name)).sort()
}

/** The statements of resources with x-crud. */
async function resourceFiles(out: string): Promise<string[]> {
  const names = await readdir(join(out, 'resources'), { recursive: true }).catch(() => [])
  return names.filter((name) => name.endsWith('.sql')).map((name) => `resources/${name}`)
}

function textOf(out: string, name: string): string | null {
  const file = join(out, name)
  return existsSync(file) ? readFileSync(file, 'utf8') : null
}

function readArguments(): Options {
  try {
    return parseArgs({
      options: {
        check: { type: 'boolean' },
        types: { type: 'boolean' },
        stubs: { type: 'boolean' },
        spec: { type: 'string' },
        out: { type: 'string' },
      },
    }).values
  } catch (error) {
    throw new GenerateError(
      `${messageOf(error)} ` + 'The options are --check, --types, --stubs, --spec FILE and --out FOLDER.',
      { cause: error },
    )
  }
}

if (import.meta.main) {
  try {
    for (const line of await generate(readArguments())) console.log(line)
  } catch (error) {
    if (!(error instanceof GenerateError)) throw error
    console.error(error.message)
    process.exit(1)
  }
}
