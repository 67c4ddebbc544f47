// `npm run generate`: writes generated/ from spec/, prisma/schema.prisma and prisma/sql, and the second part
// of docs/database.md from the migrated database.
//   --check   writes nothing and fails if a file is out of date
//   --stubs   also writes a stub for each operation without a handler
//   --spec F  another root document; --out D another folder (for benchmarks and tests)
// `npm run generate -- FILE --out FOLDER`: writes a server for any OpenAPI document, with a stub for each
// operation.
import { parseArgs } from 'node:util'
import { dirname, join, relative, resolve } from 'node:path'
import { existsSync, readFileSync } from 'node:fs'
import { mkdir, readdir, rm, writeFile } from 'node:fs/promises'
import { stringify } from 'yaml'
import { emitDocsData } from './docs-data.ts'
import { emitClient } from './client.ts'
import { emitConsole } from './console.ts'
import { removeDatabaseNotes, requireDatabaseMatch } from './schema-db-check.ts'
import { formatProblem, readContract, requireAllUsed, unusedParts } from './contract.ts'
import { emitResources, takeResources, type CrudResource } from './crud/resources.ts'
import { resourceStatements } from './crud/statements.ts'
import { addDeprecations } from './deprecation.ts'
import { GenerateError } from './error.ts'
import { addErrorCodes } from './errors.ts'
import { addEvents, emitEvents, eventUnions } from './events.ts'
import { operationsOf, type Operation } from './model.ts'
import { withPatchOperations } from './patch-operations.ts'
import { withWholeAlternatives } from '@platform-api/openapi/alternatives.ts'
import { exactDocument, publishedDocument } from './publish.ts'
import { banner, emitOperations, emitRoutes, emitTypes, markedOtherValues } from './types.ts'
import { Pool, schemasOf } from './schemas.ts'
import { compileRequests, createCompilers, emitReplySchemas, type Compilers } from './validators.ts'
import { compileSerializers } from './serializers.ts'
import { generatePrisma, stalePrisma } from './prisma.ts'
import { generateSql, staleSql } from './sql/sql.ts'
import { missingFilters } from './sql/missing-filters.ts'
import { unusedFiles } from './sql/unused.ts'
import { writeStubs } from './stubs.ts'
import { answerHelp, messageOf } from '@platform-api/openapi/command-help.ts'

answerHelp(import.meta)

const root = resolve(import.meta.dirname, '../..')
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
  /** The files that a server loads, by name. */
  served: Map<string, string>
  /** The files for compilers and clients only, by name. */
  types(): Promise<Map<string, string>>
}

/** All files of generated/ that come from the spec, by name. */
export async function emitAll(
  spec: string,
): Promise<{ files: Map<string, string>; operations: Operation[]; resources: CrudResource[] }> {
  const { operations, resources, served, types } = await emit(spec)
  return { operations, resources, files: new Map([...served, ...(await types())]) }
}

/** @param compilers those of an earlier call, to compile only what has changed. */
export async function emit(spec: string, compilers = createCompilers()): Promise<Emitted> {
  const open = await readContract(spec)
  if (spec === join(root, 'spec/openapi.yaml')) await requireDatabaseMatch(root, open)
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
  const answers = withWholeAlternatives(publishedDocument(open), 'omitted')
  const published = {
    ...Object.fromEntries(Object.entries(answers).filter(([key]) => !unpublished.has(key))),
    paths: withPatchOperations(answers.paths),
  }
  const project = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
  const served = new Map([
    ...statements,
    ['resources.ts', emitResources(resources)],
    ['openapi.json', `${JSON.stringify(published, null, 2)}\n`],
    ['openapi.yaml', stringify(published, { aliasDuplicateObjects: false, lineWidth: 120 })],
    ['docs.json', emitDocsData(document, { operations, codes, events, client: `@${project.name}/client` })],
    ['operations.ts', emitOperations(operations, names, document['x-rate-limits'] ?? {})],
    ['events.ts', eventTable],
    ['routes.ts', emitRoutes(operations)],
    ['validators.js', banner + compileRequests(document, parameters, bodies, compilers)],
    ['replies.json', emitReplySchemas(document, new Map([...responses.schemas, ...payloads.schemas]))],
    ['serializers.js', banner + compileSerializers(document, responses.schemas)],
  ])
  const types = async (): Promise<Map<string, string>> => {
    const files = new Map([
      ['types.ts', await emitTypes(withWholeAlternatives(document, 'never'), eventUnions(events))],
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
      ...emitClient(document, operations, {
        types: await emitTypes(
          withWholeAlternatives(publishedDocument(open, markedOtherValues), 'never'),
          eventUnions(events),
        ),
        project,
        existing: (name) => textOf(join(root, 'generated/client'), name),
      }),
    ])
    return new Map([...files, ...(await emitConsole(document, operations, files))])
  }
  return { operations, resources, served, types }
}

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
  stubs?: boolean
  spec?: string
  out?: string
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
  const started = process.cpuUsage()
  const { operations, wrote, stubs, notes } = await writeGenerated(options)
  const { user, system } = process.cpuUsage(started)
  const seconds = ((user + system) / 1e6).toFixed(1)
  const result = wrote.length === 0 ? 'nothing changed' : `wrote ${wrote.join(', ')}`
  return [
    ...stubs,
    ...notes,
    `${operations} operations in ${relative(root, specOf(options))}: ${result} (${seconds} s of CPU)`,
  ]
}

/** @throws GenerateError before any file is written. */
async function writeGenerated(options: Options): Promise<Generated> {
  const { files, operations, resources } = await emitAll(specOf(options))
  const database = options.out === undefined ? await generateDatabaseFiles(files) : []
  const wrote = [...database, ...(await write(outOf(options), files))]
  // Everything in generated/ belongs to the generator; a folder given with --out may contain other files.
  if (options.out === undefined) await removeUnknownFiles(files)
  return {
    operations: operations.length,
    wrote,
    stubs: options.stubs ? await writeStubs(root, operations, resources) : [],
    notes: options.out === undefined ? await notesOn(operations) : [],
  }
}

/**
 * Writes the files that a server loads. `writeTypes` writes the others. Both return the names of changed
 * files. `notes` are about parts of spec/ and files of prisma/sql.
 * @throws GenerateError before any file is written.
 */
export async function writeServed(
  compilers: Compilers,
): Promise<{ wrote: string[]; notes: string[]; writeTypes: () => Promise<string[]> }> {
  const out = outOf({})
  const { operations, served, types } = await emit(specOf({}), compilers)
  const wrote = [...(await generateDatabaseFiles(served)), ...(await write(out, served))]
  return {
    wrote,
    notes: await notesOn(operations),
    async writeTypes() {
      const files = await types()
      const written = await write(out, files)
      await removeUnknownFiles(new Map([...served, ...files]))
      return written
    },
  }
}

/** The parts of spec/ and the files of prisma/sql that nothing uses, and the filters that lists lack. */
async function notesOn(operations: Operation[]): Promise<string[]> {
  const unused = (await unusedParts(specOf({}))).map(formatProblem)
  return [...unused, ...unusedFiles(root), ...missingFilters(root, operations)]
}

/** The Prisma client and the functions for prisma/sql and the resources. @returns what it wrote. */
async function generateDatabaseFiles(files: Map<string, string>): Promise<string[]> {
  const statements = new Map([...files].filter(([name]) => name.startsWith('resources/')))
  await write(outOf({}), statements)
  for (const name of await resourceFiles(outOf({})))
    if (!statements.has(name)) await rm(join(outOf({}), name))
  return [...(await generatePrisma(root)), ...(await generateSql(root))]
}

async function removeUnknownFiles(files: Map<string, string>): Promise<void> {
  const out = outOf({})
  for (const name of await unknownFiles(out, files)) await rm(join(out, name), { recursive: true })
}

async function checkGenerated(options: Options): Promise<string[]> {
  const { files, operations } = await emitAll(specOf(options))
  await requireAllUsed(specOf(options))
  const stale = [
    ...(options.out === undefined ? [...(await stalePrisma(root)), ...(await staleSql(root))] : []),
    ...(await differing(outOf(options), files)),
  ]
  if (stale.length > 0)
    throw new GenerateError(`Out of date; run \`npm run generate\`:\n  ${stale.join('\n  ')}`)
  return [`generated/ is up to date (${operations.length} operations)`]
}

const specOf = (options: Options): string => resolve(options.spec ?? join(root, 'spec/openapi.yaml'))
const outOf = (options: Options): string => resolve(options.out ?? join(root, 'generated'))

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
  const inside = [...(await filesIn('client')), ...(await filesIn('console'))]
  const folders = ['client', 'console', 'prisma', 'sql', 'resources']
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

function readArguments(): { values: Options; positionals: string[] } {
  try {
    return parseArgs({
      options: {
        check: { type: 'boolean' },
        stubs: { type: 'boolean' },
        spec: { type: 'string' },
        out: { type: 'string' },
      },
      allowPositionals: true,
    })
  } catch (error) {
    throw new GenerateError(
      `${messageOf(error)} ` + 'The options are --check, --stubs, --spec FILE and --out FOLDER.',
      { cause: error },
    )
  }
}

/** A server for a document that does not keep the rules of this project. @returns the lines to print. */
async function generateForeign([file, ...others]: string[], { out }: Options): Promise<string[]> {
  if (out === undefined || others.length > 0)
    throw new GenerateError('Pass one OpenAPI document and its folder: FILE --out FOLDER.')
  const { generateProject } = await import('./project/project.ts')
  const { operations, wrote, notes } = await generateProject(file, resolve(out))
  const result = wrote.length === 0 ? 'nothing changed' : `wrote ${wrote.join(', ')}`
  return [...notes, `${operations} operations in ${file}: ${result}`]
}

if (import.meta.main) {
  try {
    const { values, positionals } = readArguments()
    const lines = positionals.length > 0 ? await generateForeign(positionals, values) : await generate(values)
    for (const line of lines) console.log(line)
  } catch (error) {
    if (!(error instanceof GenerateError)) throw error
    console.error(error.message)
    process.exit(1)
  }
}
