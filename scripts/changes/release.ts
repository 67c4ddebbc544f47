// Which commit the last release was: a tag such as v1.4.0, or, where nobody tags, the commit that gave package.json its version.
import { execFileSync } from 'node:child_process'

/** The release before HEAD, as git names it, and as people do. */
export interface Release {
  ref: string
  name: string
}

/** @returns why there is none to be found, where that is so. */
export function lastRelease(folder: string): Release | { missing: string } {
  const git = (...args: string[]): string =>
    execFileSync('git', args, { cwd: folder, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).trim()
  const head = git('rev-parse', 'HEAD')
  for (const tag of git('tag', '--merged', 'HEAD', '--list', 'v[0-9]*', '--sort=-version:refname')
    .split('\n')
    .filter(Boolean)) {
    if (git('rev-list', '-n1', tag) !== head) return { ref: tag, name: tag }
  }
  // In a shallow clone the oldest commit seems to have written everything.
  if (git('rev-parse', '--is-shallow-repository') === 'true')
    return { missing: 'this clone has no tag and not the whole history' }
  const commits = git('log', '--format=%H', '-G', '^  "version":', '--', 'package.json')
    .split('\n')
    .filter(Boolean)
  const release = commits.find((commit) => commit !== head)
  if (release === undefined) return { missing: 'there was none' }
  const { version } = JSON.parse(git('show', `${release}:./package.json`)) as { version: string }
  return { ref: release.slice(0, 12), name: `${version} (${release.slice(0, 7)})` }
}
