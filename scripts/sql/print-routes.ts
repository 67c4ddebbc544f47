// Prints where Citus runs each statement of the hottest operations.
import { loadEnvFile, readConfig } from '../../infra/config/config.ts'
import { withPostgres } from '../command/with-database.ts'
import { callTree, programOf } from './call-tree.ts'
import { filesOf, hotOperations, readStatements, routesOf, type Route } from './routes.ts'

export async function printRoutes(root: string): Promise<void> {
  loadEnvFile()
  const program = programOf(root)
  const statements = await readStatements(root)
  const files = hotOperations().map((name) => {
    const tree = callTree(root, name, program)
    if (tree === null) throw new Error(`There is no operation ${name} in handlers/.`)
    return { name, files: [...new Set(filesOf(tree))] }
  })
  const all = [...new Set(files.flatMap((operation) => operation.files))].sort()
  await withPostgres(readConfig(), { mustExist: true }, async (url) => {
    const routed = new Map((await routesOf(url, statements, all)).map((each) => [each.file, each]))
    const count = (names: string[], route: Route): number =>
      names.filter((name) => routed.get(name)!.route === route).length
    console.log('| operation | local | one shard | all shards | refused |\n|---|--:|--:|--:|--:|')
    const row = (name: string, names: string[]): void =>
      console.log(
        `| ${name} | ${(['local', 'one shard', 'all shards', 'refused'] as const)
          .map((route) => count(names, route))
          .join(' | ')} |`,
      )
    for (const { name, files: names } of files) row(name, names)
    row('all statements, each once', all)
    for (const { file, route, reason } of routed.values())
      if (route !== 'local') console.log(`${route}: ${file}${reason === undefined ? '' : ` (${reason})`}`)
  })
}
