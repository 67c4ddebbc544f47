// Finds a place of the contract in spec/.
import { createLocator } from '@platform-api/changes/source-locations.ts'

/** @param read returns the text of a file by its path from the root of the project, or null. */
export function createSpecLocator(read: (file: string) => string | null): ReturnType<typeof createLocator> {
  // The webhooks are generated from x-events.
  return createLocator(read, 'spec/openapi.yaml', (pointer) => [
    pointer.replace(/^\/webhooks\/([^/]+).*/, '/x-events/$1'),
  ])
}
