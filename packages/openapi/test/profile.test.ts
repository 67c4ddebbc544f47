// A profile is one that the command knows, or what a module exports.
import { join } from 'node:path'
import t from 'tap'
import { loadProfile, ProfileError } from '../profile.ts'

interface Profile {
  name: string
}

const openapi: Profile = { name: 'any API' }
const folder = t.testdir({
  'own.ts': `export const profile = { name: 'own' as string }\n`,
  'other.ts': 'export const rules = {}\n',
})
const load = (name: string): Promise<Profile> => loadProfile(name, { openapi })

t.test('a known name, or the path of a module', async (t) => {
  t.equal(await load('openapi'), openapi)
  t.same(await load(join(folder, 'own.ts')), { name: 'own' })
})

t.test('anything else is refused with a sentence', async (t) => {
  for (const name of ['platform', 'toString', join(folder, 'none.ts'), join(folder, 'other.ts')])
    await t.rejects(load(name), {
      constructor: ProfileError,
      message: `--profile must be openapi, or a module that exports \`profile\`, not ${name}.`,
    })
})
