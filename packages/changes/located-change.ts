// The changes between two contracts, each with its file and line.
import { existsSync, readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { noticesOf } from '@platform-api/openapi/faults.ts'
import { readOpenapi } from '@platform-api/openapi/read.ts'
import { announcementOf } from './announced.ts'
import type { Change } from './change.ts'
import { compareContracts } from './compare.ts'
import { openapi, type ChangesProfile } from './profile.ts'
import { createLocator } from './source-locations.ts'
import { UsageError } from './usage-error.ts'

type Json = any

export interface LocatedChange extends Change {
  file: string
  line: number
  /** How a breaking change was announced, or null. */
  announced: string | null
  /** Why a breaking change is accepted, or null. */
  accepted: string | null
}

/** A contract, and where its parts are. */
export interface Side {
  document: Json
  locate: ReturnType<typeof createLocator>
}

/**
 * The changes from one OpenAPI document to another, of version 2.0 to 3.2, in one file or several. The paths
 * are relative to `folder`. Throws UsageError if one cannot be read.
 */
export async function changesBetween(
  folder: string,
  [before, after]: [before: string, after: string],
  {
    profile = openapi,
    today = new Date(),
    allowRemote = false,
    notice = () => {},
  }: {
    profile?: ChangesProfile
    today?: Date
    allowRemote?: boolean
    /** Called with each sentence about what no tool carries out. */
    notice?: (sentence: string) => void
  } = {},
): Promise<LocatedChange[]> {
  const open = async (file: string): Promise<Side> => ({
    document: await readOpenapi(resolve(folder, file), { allowRemote }).catch((error: Error) => {
      throw new UsageError(`Cannot read ${file}: ${error.message}`)
    }),
    locate: createLocator((name) => readIfExists(resolve(folder, name)), file),
  })
  const sides = [await open(before), await open(after)] as const
  new Set(sides.flatMap(({ document }) => noticesOf(document))).forEach(notice)
  return located(...sides, profile, today)
}

export function located(before: Side, after: Side, profile: ChangesProfile, today: Date): LocatedChange[] {
  const sides = { before, after }
  return compareContracts(before.document, after.document, profile).map((change) => ({
    ...change,
    ...sides[change.place.side].locate(change.place.pointer),
    announced: change.weight === 'breaking' ? announcementOf(before.document, change, today) : null,
    accepted: null,
  }))
}

export function readIfExists(file: string): string | null {
  return existsSync(file) ? readFileSync(file, 'utf8') : null
}
