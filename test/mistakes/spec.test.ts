// Mistakes in the spec and the database of this project: each is found by the generator, with its place.
import { cpSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { readContract, requireAllUsed } from '../../scripts/generate/contract.ts'
import { requireDatabaseMatch } from '../../scripts/generate/schema-db-check.ts'
import { isLongForm } from '../support/long-form.ts'

const root = join(import.meta.dirname, '../..')

interface Mistake {
  /** Default: `defaultFile`. */
  file?: string
  change: [from: string | RegExp, to: string]
  says: RegExp
}

const defaultFile = 'spec/projects.yaml'
const database = 'prisma/schema.prisma'

/**
 * The mistakes of a group are made in one copy of the project, because the generator takes a second to read
 * it. In the long form each has a copy of its own.
 */
const groups: Array<Record<string, Mistake>> = [
  // YAML that cannot be read, in three files.
  {
    'an unclosed map': {
      change: ['[{ apiKey: [projects:read] }]', '[{ apiKey: [projects:read] '],
      says: /parse: deficient/,
    },
    'a duplicate key': {
      file: 'spec/user.yaml',
      change: ['summary: Get your profile', 'summary: Get\n      summary: Get'],
      says: /duplicated/,
    },
    'a tab': {
      file: 'spec/storage.yaml',
      change: ['      summary: List files', '\tsummary: List files'],
      says: /tab/,
    },
  },
  // Found by the rules.
  {
    'a reference to a schema that does not exist': {
      change: ["schemas/ProjectList' }", "schemas/ProjectLst' }"],
      says: /Can't resolve \$ref \(/,
    },
    'a reference to a file that does not exist': {
      file: 'spec/openapi.yaml',
      change: ['projects.yaml#', 'project.yaml#'],
      says: /no such file .*project\.yaml/,
    },
    'only an error response': {
      change: [
        /(deleteProject[^]*?)'204': \{ description: [^}]+ \}/,
        "$1'404': { $ref: 'common.yaml#/components/responses/NotFound' }",
      ],
      says: /at least one success/,
    },
    'a duplicate operationId': {
      change: ['operationId: getProject', 'operationId: listProjects'],
      says: /unique/,
    },
    'a path parameter that the path does not have': {
      change: ['- name: invitation_id', '- name: inv_id'],
      says: /`inv_id` is not used in the path/,
    },
    'a misspelled format': {
      file: 'spec/common.yaml',
      change: ['format: date-time', 'format: date-tiem'],
      says: /unknown format `date-tiem`/,
    },
    'a misspelled keyword': { change: ['maxLength: 200', 'maxLenght: 200'], says: /maxLenght/ },
    '`nullable` of OpenAPI 3.0': {
      change: ['maxLength: 200', 'nullable: true'],
      says: /`nullable` is not expected/,
    },
    'a misspelled security scheme': {
      change: ['apiKey: [projects:read]', 'apikey: [projects:read]'],
      says: /no `apikey` security scheme/,
    },
    'a misspelled scope': {
      change: ['[projects:read]', '[project:read]'],
      says: /unknown scope `project:read`/,
    },
    'a default outside of the enum': {
      change: ['default: created_at', 'default: created'],
      says: /the default "created" is invalid/,
    },
    '`required` with an unknown property': {
      change: ['        - your_role\n', '        - your_rule\n'],
      says: /`your_rule`, which is not a property/,
    },
    'a JSON body with a misspelled media type': {
      change: [
        "content: { application/json: { schema: { $ref: '#/components/schemas/ProjectCreate",
        "content: { application/jsn: { schema: { $ref: '#/components/schemas/ProjectCreate",
      ],
      says: /application\/jsn/,
    },
    'another kind of security scheme': {
      file: 'spec/openapi.yaml',
      change: [/type: http\n(\s+)scheme: bearer/, 'type: apiKey\n$1in: header\n$1name: X-Key'],
      says: /does not support the security scheme `apiKey`/,
    },
    'two paths of one path item': {
      file: 'spec/openapi.yaml',
      change: ['  /projects: {', "  /others: { $ref: 'projects.yaml#/paths/projects' }\n  /projects: {"],
      says: /`\/projects` and `\/others` refer to the same path item/,
    },
    'a 201 without Location': {
      file: 'spec/openapi.yaml',
      change: ['  created: { Location: Location }\n', ''],
      says: /a 201 must declare the header Location/,
    },
    'a status that is no number': { change: ["'204': {", "'20O': {"], says: /three-digit status/ },
    'a minimum above the maximum': {
      file: 'spec/common.yaml',
      change: [/minimum: 1\b/, 'minimum: 1000'],
      says: /must be >= 1000/,
    },
    'a pattern that does not compile': {
      change: ["pattern: '\\S'", "pattern: '[\\S'"],
      says: /pattern does not compile/,
    },
    'a pattern that backtracks without end': {
      change: ["pattern: '\\S'", "pattern: '^(\\w+\\s?)+$$'"],
      says: /pattern can take exponential/,
    },
    'a misspelled extension': {
      change: ['x-project-access: { role: viewer }', 'x-projct-access: { role: viewer }'],
      says: /x-projct-access/,
    },
    'a service account without x-organization-access': {
      file: 'spec/service-accounts.yaml',
      change: [/(getServiceAccount\n[^]*?) +x-organization-access: .*\n/, '$1'],
      says: /an operation on an organization must state the required role in x-organization-access/,
    },
    'an enum with two types': {
      change: ['enum: [owner, admin, editor, viewer]', 'enum: [owner, admin, editor, 5]'],
      says: /same type .* received "integer"/,
    },
    '`readOnly` in a request': {
      change: [/(ProjectCreate:[^]*?properties:[^]*?description:\n)/, '$1          readOnly: true\n'],
      says: /`ProjectCreate\.description` is `readOnly`/,
    },
    'a query parameter with another style': {
      change: [
        '- name: status\n          in: query\n',
        '- name: status\n          in: query\n          style: spaceDelimited\n',
      ],
      says: /spaceDelimited/,
    },
    'a tag that is not declared': {
      change: ['tags: [projects]', 'tags: [project]'],
      says: /tags should be defined/,
    },
    'a property without a column': {
      change: [/\n        tags: \{/, '\n        labels: {'],
      says: /`tags`, which is not a property/,
    },
    'a schema that has to hold itself': {
      change: [/(\n {8}owner_id:)\n +\$ref: [^\n]+/, "$1\n          $ref: '#/components/schemas/Project'"],
      says: /requires itself/,
    },
    'an object that may have other properties': {
      change: [/(ProjectCreate:[^]*?)      additionalProperties: false\n/, '$1'],
      says: /`ProjectCreate` .* `additionalProperties: false`/,
    },
    'an If-Match for no resource': {
      file: 'spec/storage.yaml',
      change: ['x-entity: getFile\n', 'x-entity: getFiles\n'],
      says: /^spec\/storage\.yaml.* `x-entity` must be the id of a GET operation/,
    },
    'a resource without ETag': {
      file: 'spec/openapi.yaml',
      change: ['  resource: { ETag: ETag }\n', ''],
      says: /^spec\/ai\.yaml.* needs a GET on its path that declares the header ETag/,
    },
  },
  // Found by the rules too, and hidden by mistakes of the group above.
  {
    'an example of a time without its zone': {
      file: 'spec/common.yaml',
      change: ["'2026-11-21T09:30:00.000Z'", "'2026-11-21T09:30:00.000'"],
      says: /match format "date-time"/,
    },
    'a value of an enum that YAML reads as another type': {
      change: ['enum: [owner, admin, editor, viewer]', 'enum: [owner, admin, editor, true]'],
      says: /same type .* received "boolean"/,
    },
    'an example against its schema': {
      change: ['examples: [Launch]', 'examples: [5]'],
      says: /type must be string/,
    },
    'no responses': {
      change: [/(deleteProject[^]*?responses:)\n +'204': [^\n]+/, '$1 {}'],
      says: /at least one success/,
    },
  },
  // Found by the comparison with the database, when the rules find nothing.
  {
    'an enum value that the column does not have': {
      change: [
        'enum: [active, archived, deleted]\n          description: An',
        'enum: [active, archived, deleted, paused]\n          description: An',
      ],
      says: /allows .*paused/,
    },
    'a nullable column that the spec declares as never null': {
      change: [
        "type: [string, 'null']\n          maxLength: 5000",
        'type: string\n          maxLength: 5000',
      ],
      says: /description .*null/,
    },
    'a property with another type than its column': {
      change: [
        /(\n {8}member_count:\n) +type: integer[^]*?(?=\n {8}\w)/,
        "$1          type: string\n          examples: ['3']",
      ],
      says: /member_count is string/,
    },
    'an enum without a value that the column has': {
      file: database,
      change: [
        'enum ProjectStatus {\n  active\n  archived\n  deleted',
        'enum ProjectStatus {\n  active\n  archived',
      ],
      says: /deleted.*column does not/,
    },
    'a text that may be longer than its column': {
      file: database,
      change: ['  bio           String?', '  bio           String?    @db.VarChar(20)'],
      says: /1000.*20|20.*1000/,
    },
    'a column with another name': {
      file: database,
      change: ['@map("avatar_url")', '@map("avatar_link")'],
      says: /no column User\.avatar_url/,
    },
    'a required property that a request may leave out': {
      change: [/(ProjectCreate:[^]*?)      required: \[name\]\n/, '$1'],
      says: /ProjectCreate\.name may be left out/,
    },
  },
]

function copyWith(t: Test, mistakes: Mistake[]): string {
  const folder = t.testdir({})
  for (const part of ['spec', 'prisma/schema.prisma', 'prisma/migrations', 'infra/database'])
    cpSync(join(root, part), join(folder, part), { recursive: true })
  symlinkSync(join(root, 'prisma/sql'), join(folder, 'prisma/sql'))
  for (const {
    file = defaultFile,
    change: [from, to],
  } of mistakes) {
    const before = readFileSync(join(folder, file), 'utf8')
    const after = before.replace(from, to)
    if (after === before) throw new Error(`${file} has no ${from}`)
    writeFileSync(join(folder, file), after)
  }
  return folder
}

/** The problems that the generator reports. */
async function problemsIn(folder: string): Promise<string[]> {
  const spec = join(folder, 'spec/openapi.yaml')
  try {
    const document = await readContract(spec)
    await requireAllUsed(spec)
    await requireDatabaseMatch(folder, document)
    return []
  } catch (error) {
    return (error as Error).message.split('\n')
  }
}

const copies = isLongForm
  ? groups.flatMap((group) => Object.entries(group).map(([name, mistake]) => ({ [name]: mistake })))
  : groups

for (const [i, copy] of copies.entries())
  t.test(`copy ${i + 1}`, async (t) => {
    const problems = await problemsIn(copyWith(t, Object.values(copy)))
    for (const [name, { says }] of Object.entries(copy)) {
      const found = problems.find((problem) => says.test(problem))
      t.match(found, /^(spec\/)?[\w.-]+\.(yaml|prisma):\d+:\d+ /, `${name}, with its place`)
    }
  })

t.test('docs/mistakes.md lists each', (t) => {
  const lines = readFileSync(join(root, 'docs/mistakes.md'), 'utf8').split('\n')
  for (const name of groups.flatMap((group) => Object.keys(group))) t.ok(lines.includes(`- ${name}`), name)
  t.end()
})
