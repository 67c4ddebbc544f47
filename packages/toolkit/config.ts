// What a configuration file imports: `import { defineConfig } from '@platform-api/toolkit'`.
import type { CheckName } from '@platform-api/contract/checks.ts'
import type { RuleName } from '@platform-api/lint/lint.ts'
import type { Config, RuleLevel } from '@platform-api/openapi/config.ts'

type Section<Name extends keyof Config> = NonNullable<Config[Name]>

/** The configuration of all commands. A profile of `lint` may have rules of its own. */
export interface ToolkitConfig extends Omit<Config, 'lint' | 'contract'> {
  lint?: Omit<Section<'lint'>, 'rules'> & { rules?: Partial<Record<RuleName | (string & {}), RuleLevel>> }
  contract?: Omit<Section<'contract'>, 'checks'> & { checks?: Partial<Record<CheckName, string>> }
}

/** Returns the configuration. Editors know its keys. */
export function defineConfig(config: ToolkitConfig): ToolkitConfig {
  return config
}
