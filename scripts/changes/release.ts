// Finds the releases: tags such as v1.4.0 or, without tags, the commits that set the version in package.json.
import { execFileSync } from 'node:child_process'

/** A release before HEAD. */
export interface Release {
  /** For git. */
  ref: string
  /** For people. */
  name: string
}

/** @returns the last release, or the reason why none was found. */
export function lastRelease(folder: string): Release | { missing: string } {
  const found = releases(folder)
  return Array.isArray(found) ? found[0] : found
}

/** @returns all releases, at least one, the newest first; or the reason why none was found. */
export function releases(folder: string): Release[] | { missing: string } {
  const git = (...args: string[]): string =>
    execFileSync('git', args, { cwd: folder, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).trim()
  const lines = (...args: string[]): string[] =>
    git(...args)
      .split('\n')
      .filter(Boolean)
  const head = git('rev-parse', 'HEAD')

  const tags = lines('tag', '--merged', 'HEAD', '--list', 'v[0-9]*', '--sort=-version:refname')
  const earlier = tags.filter((tag) => git('rev-list', '-n1', tag) !== head)
  if (earlier.length > 0) return earlier.map((tag) => ({ ref: tag, name: tag }))

  // In a shallow clone the oldest commit seems to contain all changes.
  if (git('rev-parse', '--is-shallow-repository') === 'true')
    return { missing: 'this clone has no tags and no full history' }
  const commits = lines('log', '--format=%H', '-G', '^  "version":', '--', 'package.json')
  const before = commits.filter((commit) => commit !== head)
  if (before.length === 0) return { missing: 'no earlier version was found' }
  return before.map((commit) => {
    const { version } = JSON.parse(git('show', `${commit}:./package.json`)) as { version: string }
    return { ref: commit.slice(0, 12), name: `${version} (${commit.slice(0, 7)})` }
  })
}
