// One request at a time writes to an upload, on whichever server: it holds the row for some seconds and says again and again
// that it still does. Who waits says so too; a holder to whom nothing comes any more then lets go, so that a client whose
// connection broke goes on at once although the server has not noticed yet.
import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Db } from '../../../infra/database/database.ts'
import { statement } from '../../../infra/database/statements.ts'
import { conflict, notFound } from '../../../infra/errors.ts'

/** Milliseconds for which a holder that says nothing, because its process was killed, still holds. */
const lease = 10_000
/** Milliseconds between two renewals. */
const renewal = 3_000
/** Milliseconds between two looks at whether somebody waits. */
const beat = 1_000
/** Milliseconds until who waits gives up; longer than a lease, so that nobody waits for the dead in vain. */
const patience = 15_000

const take = statement<{ staged_as: string; lapsed: boolean }>(`
  UPDATE uploads u SET holder = $2, held_until = now() + interval '${lease} milliseconds', wanted_at = NULL
  FROM (SELECT id, holder FROM uploads WHERE id = $1 FOR UPDATE) before
  WHERE u.id = before.id AND (u.held_until IS NULL OR u.held_until < now())
  RETURNING coalesce(u.staged_as, u.id) AS staged_as, before.holder IS NOT NULL AS lapsed`)
const want = statement<{ held: boolean }>(
  'UPDATE uploads SET wanted_at = now() WHERE id = $1 RETURNING coalesce(held_until >= now(), false) AS held',
)
const ask = statement<{ held: boolean }>(
  'SELECT coalesce(held_until >= now(), false) AS held FROM uploads WHERE id = $1',
)
const wanted = "coalesce(wanted_at > now() - interval '3 seconds', false) AS wanted"
const look = statement<{ wanted: boolean }>(`SELECT ${wanted} FROM uploads WHERE id = $1 AND holder = $2`)
const renew = statement<{ wanted: boolean }>(`
  UPDATE uploads SET held_until = now() + interval '${lease} milliseconds', received = coalesce($3, received)
  WHERE id = $1 AND holder = $2 RETURNING ${wanted}`)
const adopt = statement<{ id: string }>(
  'UPDATE uploads SET staged_as = $3 WHERE id = $1 AND holder = $2 RETURNING id',
)
// Whose file nobody has left yet stays named: who comes next has to leave it too.
const letGo = statement(
  'UPDATE uploads SET holder = CASE WHEN $3 THEN holder END, held_until = NULL, wanted_at = NULL WHERE id = $1 AND holder = $2',
)

export interface Hold {
  /** As it stands in the row. */
  readonly id: string
  /** The file that has the bytes. */
  readonly stagedAs: string
  /** Whether the holder before did not let go. It may be alive and write to that file, so that nobody else may: `moveTo` comes first. */
  readonly lapsed: boolean
  /** Throws when it may be lost: nothing may be written then. */
  check(): void
  /** Notes that so many bytes are on the disk for good, or are still wanted. Throws 409, and nothing is noted, when it is lost. */
  advance(received: number): Promise<void>
  /** Notes that the bytes are in another file from now on. Throws 409 as well. */
  moveTo(stagedAs: string): Promise<void>
  /** Calls it every second from now on, and says whether somebody waits. `null` ends that. */
  onBeat(work: ((wanted: boolean) => void) | null): void
  release(): Promise<void>
}

/** Waits until nobody else holds the upload. Throws 409 when that takes too long, and 404 when it is not there any more. */
export async function holdUpload(db: Db, id: string): Promise<Hold> {
  const holder = randomUUID()
  const end = performance.now() + patience
  for (let asked = performance.now(); ; asked = performance.now()) {
    const [taken] = await db.sql(take, [id, holder])
    if (taken !== undefined) return held(db, id, holder, asked, taken)
    if (performance.now() > end) throw conflict('in_progress', 'Another request is writing to this upload.')
    if ((await db.sql(want, [id])).length === 0) throw notFound('upload', id)
    await sleep(50 + Math.random() * 100)
  }
}

/** Asks who holds the upload to let go, and waits a little. @returns whether there was anybody. */
export async function askForUpload(db: Db, id: string, milliseconds = 2_500): Promise<boolean> {
  const end = performance.now() + milliseconds
  if ((await db.sql(ask, [id]))[0]?.held !== true) return false
  while (performance.now() < end && (await db.sql(want, [id]))[0]?.held === true) await sleep(100)
  return true
}

function held(
  db: Db,
  id: string,
  holder: string,
  since: number,
  taken: { staged_as: string; lapsed: boolean },
): Hold {
  let { staged_as: stagedAs, lapsed } = taken
  let renewed = since
  let working: ((wanted: boolean) => void) | null = null
  let released = false
  const own = <T>([row]: T[]): T => {
    if (row !== undefined) return row
    renewed = -Infinity
    throw lost()
  }
  const say = async (received: number | null): Promise<boolean> => {
    const asked = performance.now()
    const row = own(await db.sql(renew, [id, holder, received]))
    renewed = Math.max(renewed, asked)
    return row.wanted
  }
  const listen = async (): Promise<boolean> => {
    return performance.now() - renewed > renewal - beat / 2
      ? await say(null)
      : own(await db.sql(look, [id, holder])).wanted
  }
  const timer = setInterval(() => {
    // A database that is away for a moment costs nothing, one that is away for longer the hold.
    void listen()
      .then((wanted) => working?.(wanted))
      .catch(() => {})
  }, beat)
  timer.unref()
  return {
    id: holder,
    get stagedAs() {
      return stagedAs
    },
    get lapsed() {
      return lapsed
    },
    check() {
      if (performance.now() - renewed > lease - 2_000) throw lost()
    },
    async advance(received) {
      await say(received)
    },
    async moveTo(to) {
      own(await db.sql(adopt, [id, holder, to]))
      stagedAs = to
      lapsed = false
    },
    onBeat(work) {
      working = work
    },
    async release() {
      if (released) return
      released = true
      clearInterval(timer)
      // Where it fails, the lease runs out.
      await db.sql(letGo, [id, holder, lapsed]).catch(() => {})
    },
  }
}

/** Another request has the upload now. */
export function lost(): Error {
  return conflict('in_progress', 'Another request took this upload over.')
}
