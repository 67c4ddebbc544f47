// `npm run image [-- TAG]`: builds the container image with Docker or Podman, whichever is there. The default
// tag is `platform-api:` and the version.
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { answerHelp } from '../../infra/command-help.ts'
import { version } from '../../infra/version.ts'

answerHelp(import.meta)

const [tag = `platform-api:${version}`, ...more] = process.argv.slice(2)
const engine = ['docker', 'podman'].find((name) => spawnSync(name, ['--version']).status === 0)
if (more.length > 0 || tag.startsWith('-')) fail('Pass at most one tag.')
else if (engine === undefined) fail('There is no Docker and no Podman here.', 1)
else {
  const { status } = spawnSync(engine, ['build', '--tag', tag, '.'], {
    cwd: join(import.meta.dirname, '../..'),
    stdio: 'inherit',
    env: { ...process.env, DOCKER_BUILDKIT: '1' },
  })
  process.exitCode = status ?? 1
}

function fail(message: string, code = 2): void {
  console.error(message)
  process.exitCode = code
}
