// Finds the last release: a tag such as v1.4.0 or, without tags, the commit that set the version in
// package.json.
import { execFileSync } from 'node:child_process'

/** The release before HEAD. */
export interface Release {
  /** For git. */
  ref: string
  /** For people. */
  name: string
}

/** @returns the release, or the reason why none was found. */
export function lastRelease(folder: string): Release | { missing: string } {
  const git = (...args: string[]): string =>
    execFileSync('git', args, { cwd: folder, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).trim()
  const head = git('rev-parse', 'HEAD')
  for (const tag of git('tag', '--merged', 'HEAD', '--list', 'v[0-9]*', '--sort=-version:refname')
    .split('\n')
    .filter(Boolean)) {
    if (git('rev-list', '-n1', tag) !== head) return { ref: tag, name: tag }
  }
  // In a shallow clone the oldest commit seems to contain all changes.
  if (git('rev-parse', '--is-shallow-repository') === 'true')
    return { missing: 'this clone has no tags and no full history' }
  const commits = git('log', '--format=%H', '-G', '^  "version":', '--', 'package.json')
    .split('\n')
    .filter(Boolean)
  const release = commits.find((commit) => commit !== head)
  if (release === undefined) return { missing: 'no earlier version was found' }
  const { version } = JSON.parse(git('show', `${release}:./package.json`)) as { version: string }
  return { ref: release.slice(0, 12), name: `${version} (${release.slice(0, 7)})` }
}
