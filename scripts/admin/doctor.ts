// `npm run admin -- doctor`: checks the settings and everything that they name, one line for each, and says
// what to do. It changes nothing and prints no secret.
import { loadEnvFile, readConfig, type Config } from '../../infra/config/config.ts'
import { groups } from '../../infra/config/settings.ts'
import { version } from '../../infra/version.ts'
import {
  checkDisk,
  checkMessageBus,
  checkModels,
  checkRedis,
  checkStripe,
  checkTelemetry,
} from './doctor-services.ts'
import { checkTheDatabase } from './doctor-database.ts'
import { explain, type Finding, type Report } from './doctor-report.ts'

/** @returns whether there is no problem. */
export async function runDoctor({ json }: { json: boolean }): Promise<boolean> {
  const findings: Finding[] = []
  const add = (finding: Finding): void => {
    findings.push(finding)
    if (!json) console.log(`${finding.state.padEnd(7)}  ${finding.name.padEnd(12)}  ${finding.message}`)
  }
  await diagnose(process.env, add, loadEnvFile)
  if (json) console.log(JSON.stringify(findings, null, 2))
  return findings.every(({ state }) => state !== 'problem')
}

/** @param load adds settings to `env` before they are read. */
export async function diagnose(
  env: NodeJS.ProcessEnv,
  add: (finding: Finding) => void,
  load: typeof loadEnvFile = () => {},
): Promise<void> {
  const report: Report = (state, name, message) => add({ state, name, message: withoutSecrets(env, message) })
  const config = readSettings(env, report, load)
  if (config === null) return
  await checkTheDatabase(config, report)
  for (const check of [checkDisk, checkMessageBus, checkRedis, checkModels, checkStripe])
    await check(config, report)
  await checkTelemetry(env, report)
}

function readSettings(
  env: NodeJS.ProcessEnv,
  report: Report,
  load: typeof loadEnvFile,
): Readonly<Config> | null {
  try {
    load((message) => report('warning', 'settings', `${message}.`))
    const config = readConfig(env)
    report(
      'ok',
      'settings',
      `Version ${version} on Node.js ${process.versions.node}; all settings are valid.`,
    )
    return config
  } catch (error) {
    report('problem', 'settings', explain(error))
    return null
  }
}

/** Messages of other programs may repeat an address with its password. */
function withoutSecrets(env: NodeJS.ProcessEnv, message: string): string {
  const secrets = groups
    .flatMap(({ settings }) => Object.values(settings))
    .filter(({ secret }) => secret)
    .map(({ variable }) => env[variable])
    .flatMap((value) => (value ? [value, passwordOf(value)] : []))
    .filter((value): value is string => value !== null && value.length >= 6)
  return secrets.reduce((text, secret) => text.replaceAll(secret, '…'), message)
}

function passwordOf(value: string): string | null {
  return URL.canParse(value) ? decodeURIComponent(new URL(value).password) : null
}
