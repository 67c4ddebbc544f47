// Starts the library of library.py, a server in another language.
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { createInterface } from 'node:readline'

export const libraryDefects = {
  'maxLength is not checked': { operations: ['createBook', 'updateBook'], checks: ['accepted'] },
  'a pattern is not checked': { operations: ['createBook'], checks: ['accepted'] },
  'a time has another format': { operations: ['getBook', 'createBook'], checks: ['body'] },
  'a property is missing': { operations: ['getBook', 'createBook'], checks: ['body'] },
  'broken JSON is a server error': { operations: ['createBook', 'createAuthor'], checks: ['server-error'] },
  'every key is accepted': { operations: ['getBook', 'listBooks'], checks: ['unknown-key'] },
  "another user's books are listed": { operations: ['listBooks'], checks: ['tenant-isolation'] },
  'a filter is ignored': { operations: ['listBooks'], checks: ['filter'] },
  'the second page is the first again': { operations: ['listBooks'], checks: ['page-duplicate', 'pages'] },
  'a creation changes what was sent': { operations: ['createBook'], checks: ['create-value'] },
  'an ETag never changes': { operations: ['getBook'], checks: ['etag'] },
  'a 304 is never sent': { operations: ['getBook'], checks: ['not-modified'] },
  'If-Match is ignored': { operations: ['updateBook'], checks: ['if-match'] },
  'an update resets another property': { operations: ['updateBook'], checks: ['update-others'] },
  'an update is not stored': { operations: ['updateBook'], checks: ['update-read'] },
  'a deleted book is still listed': { operations: ['listBooks'], checks: ['deleted-list-membership'] },
} satisfies Record<string, { operations: string[]; checks: string[] }>

export type LibraryDefect = keyof typeof libraryDefects

export const libraryKeys = ['library-key-of-anna-01', 'library-key-of-berta-02'] as const

/** Whether this machine can run the library. */
export const hasPython = spawnSync('python3', ['--version']).status === 0

/** Returns the URL of a running library and a function that ends it. */
export async function startLibrary(
  defect: LibraryDefect | null = null,
): Promise<{ url: string; stop: () => Promise<void> }> {
  const child = spawn(
    'python3',
    [join(import.meta.dirname, 'library.py'), ...(defect === null ? [] : [defect])],
    {
      stdio: ['pipe', 'pipe', 'inherit'],
    },
  )
  const [port] = await once(createInterface(child.stdout), 'line')
  return {
    url: `http://127.0.0.1:${port}`,
    async stop() {
      const ended = once(child, 'exit')
      child.stdin.end()
      await ended
    },
  }
}
