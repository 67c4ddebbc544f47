// The files that documents name exist, and have the functions and classes that a document names in them.
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'

const root = join(import.meta.dirname, '../..')

/** The files that a document names in `folders` and does not find. */
function missingFiles(text: string, folders: string): { named: number; missing: string[] } {
  const named = [...text.matchAll(new RegExp(`\`((?:${folders})/[\\w/.-]+\\.\\w+)\``, 'g'))].map(
    ([, path]) => path!,
  )
  return { named: named.length, missing: named.filter((path) => !existsSync(join(root, path))) }
}

t.test('every test that docs/security.md names exists', (t) => {
  const { named, missing } = missingFiles(readFileSync(join(root, 'docs/security.md'), 'utf8'), 'test')
  t.ok(named > 40)
  t.same(missing, [])
  t.end()
})

t.test('the walkthroughs of docs/architecture.md name files, and functions in them', (t) => {
  const page = readFileSync(join(root, 'docs/architecture.md'), 'utf8')
  const text = page.slice(page.indexOf('\n## Reading a project\n'))
  const folders = 'app|generated|handlers|infra|packages|prisma|scripts|services|spec'
  const { named, missing } = missingFiles(text, folders)
  t.ok(named > 60)
  t.same(missing, [])
  const functions = [...text.matchAll(/`(\w+)`(?: and `(\w+)`)?\s+in\s+`([\w/.-]+)`/g)].flatMap(
    ([, first, second, file]) => [first!, second ?? []].flat().map((name) => ({ name, file: file! })),
  )
  t.ok(functions.length > 40)
  t.same(
    functions.filter(({ name, file }) => !has(file, name)),
    [],
  )
  t.end()
})

t.test('docs/architecture.md says what the files at the top of services/ are for', (t) => {
  const text = readFileSync(join(root, 'docs/architecture.md'), 'utf8')
  const listed = [...text.matchAll(/^- `([\w-]+\.ts)` /gm)].map(([, name]) => name)
  const files = readdirSync(join(root, 'services')).filter((name) => name.endsWith('.ts'))
  t.same(listed.toSorted(), files)
  t.ok(files.length <= 6)
  t.end()
})

/** Whether the file declares a function, a class or a method with the name. */
function has(file: string, name: string): boolean {
  const declaration = new RegExp(`(?:function|class|const|async) \\*?${name}\\b|^ +${name}[(:]`, 'm')
  return existsSync(join(root, file)) && declaration.test(readFileSync(join(root, file), 'utf8'))
}
