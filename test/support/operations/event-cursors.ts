// The cursors of a server's event log, by the sequence numbers that stand behind them.
import type { TestServer } from '../server/server.ts'

type Log = Pick<TestServer, 'services'>

export async function cursorAt({ services }: Log, sequence: number): Promise<string> {
  return (await services.eventCursors()).encode(sequence)
}

export async function sequenceAt({ services }: Log, cursor: string): Promise<number> {
  return (await services.eventCursors()).decode(cursor)
}

/** The sequence numbers of events, in the order of the events. */
export async function sequencesOf(
  { services: { database } }: Log,
  events: Array<{ id: string }>,
): Promise<number[]> {
  const rows = await database.prisma.event.findMany({ where: { id: { in: events.map(({ id }) => id) } } })
  const byId = new Map(rows.map(({ id, sequence }) => [id, Number(sequence)]))
  return events.map(({ id }) => byId.get(id)!)
}
