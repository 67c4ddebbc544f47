// The breaking changes of this project that are accepted for a time.
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { readAccepted } from '@platform-api/changes/accepted.ts'
import type { AcceptedBreak } from '@platform-api/openapi/config.ts'

export const acceptedFile = 'spec/accepted-breaks.json'

/** The list of the project in `folder`; empty without the file. Throws UsageError if it is malformed. */
export function acceptedIn(folder: string): AcceptedBreak[] {
  const file = join(folder, acceptedFile)
  return existsSync(file) ? readAccepted(file, acceptedFile) : []
}
