// What `npm run check` finds in small projects made for it.
import { mkdir, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import t, { type Test } from 'tap'
import { roomProblems } from '../../scripts/check/layers.ts'
import { typeProblems } from '../../scripts/check/types.ts'

async function project(t: Test, files: Record<string, string>): Promise<string> {
  const folder = t.testdir({ app: {}, handlers: {}, services: {}, scripts: {} })
  for (const [name, text] of Object.entries(files)) {
    await mkdir(dirname(join(folder, name)), { recursive: true })
    await writeFile(join(folder, name), text)
  }
  return folder
}

t.test('an import against the direction of the rooms is named with its line', async (t) => {
  const folder = await project(t, {
    'handlers/a.ts':
      "import { b } from './b.ts'\nimport { s } from '../services/s.ts'\nimport Fastify from 'fastify'\n",
    'handlers/b.ts':
      "import type { Handlers } from '../services/handler.ts'\nimport '../generated/validators.js'\nimport '../app/build.ts'\n",
    'services/s.ts':
      "import { a } from '../handlers/a.ts'\nimport pg from 'pg'\nimport cors from '@fastify/cors'\n",
    'services/deep/t.ts': "export { a } from '../s.ts'\nconst later = await import('../../app/build.ts')\n",
    'app/build.ts':
      "import { a } from '../handlers/a.ts'\nimport { handlers } from '../generated/routes.ts'\nimport Fastify from 'fastify'\n",
    'scripts/run.ts': "import '../test/app/keys.test.ts'\n",
  })
  t.strictSame(
    roomProblems(folder).map((line) => line.split(':').slice(0, 2).join(':')),
    [
      'handlers/a.ts:1 imports handlers/b.ts',
      'handlers/a.ts:3 imports npm',
      'handlers/b.ts:2 imports generated/validators.js',
      'handlers/b.ts:3 imports app/build.ts',
      'services/deep/t.ts:2 imports app/build.ts',
      'services/s.ts:1 imports handlers/a.ts',
      'services/s.ts:3 imports npm',
      'app/build.ts:1 imports handlers/a.ts',
      'scripts/run.ts:1 imports test/users/api-keys.test.ts',
    ],
  )
})

t.test('a promise that nobody awaits is named, and what tsc says', async (t) => {
  const folder = await project(t, {
    'tsconfig.json': JSON.stringify({
      compilerOptions: { target: 'es2024', module: 'nodenext', strict: true, noEmit: true, types: [] },
      include: ['app'],
    }),
    'app/promises.ts': [
      'async function work (): Promise<void> {}',
      'declare const thenable: { then (): void }',
      'declare const maybe: (() => Promise<void>) | undefined',
      'export async function all (wanted: boolean): Promise<void> {',
      '  work() // floats',
      '  wanted && work() // floats',
      '  wanted ? work() : undefined // floats',
      '  maybe?.() // floats',
      '  work().then(() => 1) // floats',
      '  work().finally(() => {}) // floats',
      '  Promise.all([work()]) // floats',
      '  await work()',
      '  void work()',
      '  work().catch(() => {})',
      '  work().catch(() => {}).finally(() => {})',
      '  thenable',
      '}',
      'export const wrong: number = "text" // floats not',
    ].join('\n'),
  })
  const found = typeProblems(folder).map((line) => line.split(' ')[0])
  t.strictSame(
    found.filter((place) => place.startsWith('app/')).map((place) => place.split(':')[1]),
    ['18', '5', '6', '7', '8', '9', '10', '11'],
  )
})

t.test('the rooms of this project hold', async (t) => {
  t.strictSame(roomProblems(join(import.meta.dirname, '../..')), [])
})
