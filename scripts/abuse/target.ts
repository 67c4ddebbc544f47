// The attacked server: one process with default limits, and its users. What the server uses is read from the
// operating system, so that measuring does not change it.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { openDatabase, type Database } from '../../infra/database/database.ts'
import { createDatabase } from '../bench/population.ts'
import type { Program, Stage } from '../bench/stage.ts'
import { insertApiKey } from '../../services/users/api-keys.ts'
import { defaultScopes } from '../../services/users/scopes.ts'
import { insertUser } from '../../services/users/users.ts'

export interface Person {
  id: string
  keys: string[]
}

export interface Target {
  url: string
  /** New users. The keys of a user are all without limits of their own. */
  people(count: number, keysEach: number): Promise<Person[]>
  /** The key of a new admin. */
  admin(): Promise<string>
  /** For what no request can do, such as an order that is paid already. */
  database: Database
  /** CPU seconds of the main thread so far. */
  mainThread(): Promise<number>
  /** Megabytes of memory. */
  memory(): number
  close(): Promise<void>
}

const root = join(import.meta.dirname, '../..')

/** The limits are the defaults. Webhooks may reach this machine, where the slow receivers are. */
const settings = {
  PORT: '0',
  LOG_LEVEL: 'warn',
  WEBHOOK_ALLOWED_NETWORKS: '127.0.0.0/8',
  WEBHOOK_ALLOWED_PORTS: '1-65535',
}

/** @param databaseUrl an empty database. Default: a new PostgreSQL. */
export async function openTarget(
  stage: Stage,
  env: Record<string, string> = {},
  databaseUrl?: string,
): Promise<Target> {
  const url = databaseUrl ?? (await createDatabase((await stage.postgres()).url, 'abuse'))
  const program = stage.run(join(root, 'app/main.ts'), [], {
    ...settings,
    DATABASE_URL: url,
    DATA_DIR: join(stage.folder, 'data'),
    ...env,
  })
  const [, address] = await program.says(/serving at (http:\/\/127\.0\.0\.1:\d+)/)
  const database = openDatabase({ url, poolSize: 1 })
  let made = 0
  return {
    url: address,
    people: async (count, keysEach) =>
      await Promise.all(
        Array.from({ length: count }, async () => await addPerson(database, `person${++made}`, keysEach)),
      ),
    admin: async () => (await addPerson(database, `admin${++made}`, 1, 'admin')).keys[0],
    database,
    mainThread: async () => await mainThread(program),
    memory: () => memory(program),
    async close() {
      await database.close()
      await program.stop()
    },
  }
}

async function addPerson(
  database: Database,
  name: string,
  keyCount: number,
  role: 'user' | 'admin' = 'user',
): Promise<Person> {
  return await database.transaction(async (tx) => {
    const email = `${name}@example.com`
    const { id } = await insertUser(tx, { email, emailVerified: true, name, role })
    const keys: string[] = []
    for (let i = 0; i < keyCount; i++) {
      const { key } = await insertApiKey(tx, 'test', {
        userId: id,
        name: `key ${i}`,
        scopes: defaultScopes(role),
        projectIds: null,
        expiresAt: null,
      })
      keys.push(key)
    }
    return { id, keys }
  })
}

/** Where Linux does not report it: the CPU time of the whole process. */
async function mainThread(program: Program): Promise<number> {
  try {
    const [nanoseconds] = readFileSync(`/proc/${program.pid}/task/${program.pid}/schedstat`, 'utf8').split(
      ' ',
    )
    return Number(nanoseconds) / 1e9
  } catch {
    return await program.cpu()
  }
}

/** 0 where Linux does not report it. */
function memory({ pid }: Program): number {
  try {
    const [, kilobytes] = /VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))!
    return Number(kilobytes) / 1024
  } catch {
    return 0
  }
}
