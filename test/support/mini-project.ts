// A project of its own for tests of the generator and the edge: this one's app/, services/ and scripts/, and a spec and
// handlers that a test may change.
import { execFile } from 'node:child_process'
import { cp, mkdir, readFile, symlink, writeFile } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import { promisify } from 'node:util'
import type { FastifyInstance } from 'fastify'

const root = resolve(import.meta.dirname, '../..')

export interface MiniProject {
  folder: string
  write(file: string, text: string): Promise<void>
  read(file: string): Promise<string>
  /** Runs a script of the project, and answers how it ended and what it printed. */
  run(args: string[]): Promise<{ code: number; stdout: string; stderr: string }>
  /** Writes generated/, all but the Prisma client, which is slow and has nothing to do with the spec; throws when it cannot. */
  generate(options?: { check?: boolean; stubs?: boolean; out?: string }): Promise<string>
  /** The server without a socket and without a database: for operations that need neither. */
  build(): Promise<FastifyInstance>
}

/** @param files what to write instead of the mini spec and its handlers, from the project's folder. */
export async function miniProject(folder: string, files: Record<string, string> = {}): Promise<MiniProject> {
  for (const room of ['app', 'services', 'infra', 'packages', 'scripts', 'prisma']) {
    await cp(join(root, room), join(folder, room), {
      recursive: true,
      filter: (from) => !from.includes('/bench'),
    })
  }
  for (const file of ['package.json', 'tsconfig.json']) await cp(join(root, file), join(folder, file))
  await cp(join(root, 'test/support/mini-spec'), join(folder, 'spec'), { recursive: true })
  await mkdir(join(folder, 'handlers'))
  await mkdir(join(folder, 'generated'))
  // What of the client depends on no spec is compiled already.
  await cp(join(root, 'generated/client'), join(folder, 'generated/client'), {
    recursive: true,
    filter: (from) => !from.endsWith('types.d.ts'),
  })
  await symlink(join(root, 'node_modules'), join(folder, 'node_modules'))
  await symlink(join(root, 'generated/prisma'), join(folder, 'generated/prisma'))

  const project: MiniProject = {
    folder,
    async write(file, text) {
      await mkdir(dirname(join(folder, file)), { recursive: true })
      await writeFile(join(folder, file), text)
    },
    read: (file) => readFile(join(folder, file), 'utf8'),
    async run(args) {
      try {
        return { code: 0, ...(await promisify(execFile)(process.execPath, args, { cwd: folder })) }
      } catch (error) {
        const { code, stdout, stderr } = error as { code: number; stdout: string; stderr: string }
        return { code, stdout, stderr }
      }
    },
    async generate(options = {}) {
      // In this process, where the generator's own libraries are loaded once for all projects.
      const { generate } = (await import(
        join(folder, 'scripts/generate/main.ts')
      )) as typeof import('../../scripts/generate/main.ts')
      return (await generate({ out: join(folder, 'generated'), ...options })).join('\n')
    },
    async build() {
      const { buildApp } = (await import(join(folder, 'app/build.ts'))) as typeof import('../../app/build.ts')
      const { readConfig } = (await import(
        join(folder, 'infra/config/config.ts')
      )) as typeof import('../../infra/config/config.ts')
      const config = readConfig({ DATABASE_URL: 'postgresql://none', LOG_LEVEL: 'silent' })
      return await buildApp({
        services: {
          config,
          database: { forRequest: () => ({}), translateError: (error: unknown) => error },
          tail: { close: async () => {} },
          writings: { close: async () => {} },
        } as never,
        limits: {} as never,
      })
    },
  }
  for (const [file, text] of Object.entries(files)) await project.write(file, text)
  return project
}
