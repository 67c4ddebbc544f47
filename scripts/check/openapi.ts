// Lints the published OpenAPI document with Redocly, Spectral and the OWASP ruleset, for the tools of
// customers. The rules of this project are in scripts/generate/rules.
import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { createConfig, lint } from '@redocly/openapi-core'
import core from '@stoplight/spectral-core'
import owasp from '@stoplight/spectral-owasp-ruleset'
import parsers from '@stoplight/spectral-parsers'
import rulesets from '@stoplight/spectral-rulesets'
import { redoclyExceptions, spectralExceptions, type Exception } from './openapi-rules.ts'

interface Finding {
  rule: string
  place: string
  message: string
}

/** @returns each finding of the document in the file as a line of text. */
export async function openapiProblems(file: string): Promise<string[]> {
  const redocly = unexpected(await lintWithRedocly(file), redoclyExceptions)
  const spectral = unexpected(await lintWithSpectral(file), spectralExceptions)
  return [...redocly, ...spectral].map(({ rule, place, message }) => `${place} ${message} (${rule})`)
}

function unexpected(findings: Finding[], exceptions: Exception[]): Finding[] {
  return findings.filter(
    ({ rule, place }) => !exceptions.some((each) => each.rule === rule && (each.at?.test(place) ?? true)),
  )
}

async function lintWithRedocly(file: string): Promise<Finding[]> {
  const config = await createConfig({ extends: ['recommended-strict'] })
  const problems = await lint({ ref: file, config })
  return problems.map(({ ruleId, message, location }) => ({
    rule: ruleId,
    place: location[0]?.pointer ?? '#/',
    message,
  }))
}

async function lintWithSpectral(file: string): Promise<Finding[]> {
  const spectral = new core.Spectral()
  const off = spectralExceptions.filter(({ at }) => at === undefined)
  spectral.setRuleset({
    extends: [
      [rulesets.oas, 'recommended'],
      [owasp, 'recommended'],
    ],
    rules: Object.fromEntries(off.map(({ rule }) => [rule, 'off'])),
  } as never)
  const document = new core.Document(readFileSync(file, 'utf8'), parsers.Json, file)
  const findings = await spectral.run(document)
  return findings.map(({ code, message, path }) => ({ rule: String(code), place: path.join('.'), message }))
}

if (import.meta.main) {
  const problems = await openapiProblems(resolve(import.meta.dirname, '../../generated/openapi.json'))
  for (const problem of problems) console.log(problem)
  process.exit(problems.length === 0 ? 0 : 1)
}
