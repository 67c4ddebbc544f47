// The nodes of Citus whose coordinator `CITUS_URL` names.
import pg from 'pg'

/** @returns the address of each node, that of the coordinator first. */
export async function nodesOf(coordinator: string): Promise<string[]> {
  const rows = await administer(
    coordinator,
    'SELECT nodename AS host, nodeport AS port FROM pg_dist_node WHERE groupid > 0 ORDER BY groupid',
  )
  const worker = ({ host, port }: Record<string, string>): string =>
    Object.assign(new URL(coordinator), { hostname: host, port }).href
  return [coordinator, ...rows.map(worker)]
}

/** Makes the empty databases of this name on the nodes one. @returns its address on the coordinator. */
export async function joinNodes(nodes: string[], name: string): Promise<string> {
  const databases = nodes.map((node) => Object.assign(new URL(node), { pathname: `/${name}` }).href)
  for (const database of databases) await administer(database, 'CREATE EXTENSION citus')
  const [coordinator] = databases
  for (const [i, node] of nodes.entries()) {
    const { hostname, port } = new URL(node)
    const add = i === 0 ? 'citus_set_coordinator_host' : 'citus_add_node'
    await administer(coordinator, `SELECT ${add}('${hostname}', ${port || 5432})`)
  }
  return coordinator
}

export async function administer(url: string, statement: string): Promise<Record<string, string>[]> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    return (await client.query<Record<string, string>>(statement)).rows
  } finally {
    await client.end()
  }
}
