// A separate project for tests of the generator and the HTTP layer: a copy of the code with the mini spec,
// which a test may change.
import { execFile } from 'node:child_process'
import { appendFileSync, cpSync, mkdirSync, readdirSync, readFileSync, rmSync, symlinkSync } from 'node:fs'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import { promisify } from 'node:util'
import type { FastifyInstance } from 'fastify'

const root = resolve(import.meta.dirname, '../../..')

/** The server of the project throws the errors of this project. */
const [errorCodes] = /^x-error-codes:\n(?:(?: .*|#.*)?\n)*/m.exec(
  readFileSync(join(root, 'spec/openapi.yaml'), 'utf8'),
)!

interface GenerateOptions {
  check?: boolean
  stubs?: boolean
  out?: string
}

export interface MiniProject {
  folder: string
  write(file: string, text: string): Promise<void>
  read(file: string): Promise<string>
  /** Runs a script of the project; returns its exit code and output. */
  run(args: string[]): Promise<{ code: number; stdout: string; stderr: string }>
  /**
   * Writes generated/ except the Prisma client, which does not depend on the spec. Throws on an error in
   * the spec.
   */
  generate(options?: GenerateOptions): Promise<string>
  /** Expects an error that the command prints without a stack trace; returns its message. */
  generateError(options?: GenerateOptions): Promise<string>
  /** The server without a socket and a database. */
  build(): Promise<FastifyInstance>
}

/** @param files added to the project or replacing its files, by path. */
export async function miniProject(folder: string, files: Record<string, string> = {}): Promise<MiniProject> {
  copyTo(folder, [
    'infra',
    'generated/error-codes.ts',
    'prisma/schema.prisma',
    'package.json',
    'tsconfig.json',
  ])
  let hasServer = false
  /** Copies the code of the server when the project runs or changes it. The generator does not read it. */
  const ensureServer = (): void => {
    if (hasServer) return
    hasServer = true
    copyTo(folder, ['app', 'services'])
  }
  let hasGenerator = false
  /** Copies the generator and the packages when the project runs or changes them. */
  const ensureGenerator = (): void => {
    if (hasGenerator) return
    hasGenerator = true
    ensureServer()
    const scripts = readdirSync(join(root, 'scripts')).filter((name) => name !== 'bench')
    copyTo(folder, ['packages', ...scripts.map((name) => `scripts/${name}`)])
  }
  const isOfGenerator = (file: string): boolean => /^(packages|scripts)\//.test(file)
  const isOfServer = (file: string): boolean => /^(app|services)\//.test(file)
  let ownGenerator = false
  /** The project's generator if the project has changed it, or else the loaded one of this project. */
  const script = (name: string): string =>
    ownGenerator ? join(folder, 'scripts/generate', name) : join(root, 'scripts/generate', name)
  cpSync(join(root, 'test/support/generator/mini-spec'), join(folder, 'spec'), { recursive: true })
  appendFileSync(join(folder, 'spec/openapi.yaml'), errorCodes)
  mkdirSync(join(folder, 'handlers'))
  // Reuses the compiled runtime of the client and the statements, which do not depend on the spec.
  copyTo(folder, ['generated/client', 'generated/sql'])
  rmSync(join(folder, 'generated/client/types.d.ts'))
  symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'))
  symlinkSync(join(root, 'generated/prisma'), join(folder, 'generated/prisma'))

  const project: MiniProject = {
    folder,
    async write(file, text) {
      if (isOfGenerator(file)) {
        ensureGenerator()
        ownGenerator = true
      }
      if (isOfServer(file)) ensureServer()
      await mkdir(dirname(join(folder, file)), { recursive: true })
      await writeFile(join(folder, file), text)
    },
    async read(file) {
      if (isOfGenerator(file)) ensureGenerator()
      if (isOfServer(file)) ensureServer()
      return await readFile(join(folder, file), 'utf8')
    },
    async run(args) {
      ensureGenerator()
      try {
        return { code: 0, ...(await promisify(execFile)(process.execPath, args, { cwd: folder })) }
      } catch (error) {
        const { code, stdout, stderr } = error as { code: number; stdout: string; stderr: string }
        return { code, stdout, stderr }
      }
    },
    async generate(options = {}) {
      // In this process, so that the generator's libraries load only once.
      const { generate } = (await import(
        script('main.ts')
      )) as typeof import('../../../scripts/generate/main.ts')
      return (await generate({ root: folder, out: join(folder, 'generated'), ...options })).join('\n')
    },
    async generateError(options) {
      const { GenerateError } = (await import(
        script('error.ts')
      )) as typeof import('../../../scripts/generate/error.ts')
      try {
        await project.generate(options)
      } catch (error) {
        if (error instanceof GenerateError) return error.message
        throw error
      }
      throw new Error('The generator found no error.')
    },
    async build() {
      ensureServer()
      const { buildApp } = (await import(
        join(folder, 'app/build.ts')
      )) as typeof import('../../../app/build.ts')
      const { readConfig } = (await import(
        join(folder, 'infra/config/config.ts')
      )) as typeof import('../../../infra/config/config.ts')
      const config = readConfig({ DATABASE_URL: 'postgresql://none', LOG_LEVEL: 'silent' })
      return await buildApp({
        services: {
          config,
          database: { forRequest: () => ({}), translateError: (error: unknown) => error },
          eventStreams: { close: async () => {} },
          generations: { close: async () => {} },
          readiness: { stopping: false },
        } as never,
        limits: {
          ping: null,
          delay: () => 0,
          consume: async (name: string) => ({
            allowed: true,
            policy: { name, limit: 1 },
            remaining: 1,
            reset: 1,
          }),
        } as never,
      })
    },
  }
  for (const [file, text] of Object.entries(files)) await project.write(file, text)
  return project
}

/**
 * Copies files and folders of this project. `cpSync` without a filter costs a tenth of the CPU of `cp` or of
 * a copy with a filter.
 */
function copyTo(folder: string, names: string[]): void {
  for (const name of names) cpSync(join(root, name), join(folder, name), { recursive: true })
}
