// A field for the ID of a resource, which offers the names of the resources of its kind.
import type { InputHTMLAttributes } from 'preact'
import { useState } from 'preact/hooks'
import { namesOf, namesWith } from './names.ts'

type Props = InputHTMLAttributes<HTMLInputElement> & {
  id: string
  /** The prefix of the IDs; undefined for other texts. */
  prefix: string | undefined
}

/** The names are loaded when the field is first reached. */
export function Reference({ prefix, id, ...others }: Props) {
  const [names, setNames] = useState<Array<[string, string]>>([])
  const load = async (): Promise<void> => {
    await namesOf(prefix!)
    setNames(namesWith(prefix!))
  }
  return (
    <>
      <input
        {...(others as object)}
        id={id}
        type="text"
        autoComplete="off"
        list={prefix === undefined ? undefined : `${id}-names`}
        onFocus={() => void (prefix !== undefined && load())}
      />
      {prefix !== undefined && (
        <datalist id={`${id}-names`}>
          {names.map(([value, name]) => (
            <option key={value} value={value}>
              {name}
            </option>
          ))}
        </datalist>
      )}
    </>
  )
}
