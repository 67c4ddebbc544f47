// A field for the ID of a resource, which offers the names of the resources of its kind.
import type { InputHTMLAttributes } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { nameOf, namesOf } from './names.ts'

type Props = InputHTMLAttributes<HTMLInputElement> & {
  id: string
  /** The prefix of the IDs; undefined for other texts. */
  prefix: string | undefined
}

/** The names are loaded when the field is first reached. */
export function Reference({ prefix, id, ...others }: Props) {
  const [names, setNames] = useState<Array<[string, string]>>([])
  return (
    <>
      <input
        {...(others as object)}
        id={id}
        type="text"
        autoComplete="off"
        list={prefix === undefined ? undefined : `${id}-names`}
        onFocus={() => void (prefix !== undefined && namesOf(prefix, true).then(setNames))}
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

interface SeveralProps {
  id: string
  name: string
  title: string
  prefix: string
  value: string[] | undefined
}

/** A field for the IDs of resources, which are chosen by their names; a text while there are none. */
export function References({ id, name, title, prefix, value = [] }: SeveralProps) {
  const [names, setNames] = useState<Array<[string, string]>>([])
  const [chosen, setChosen] = useState(value)
  useEffect(() => void namesOf(prefix, true).then(setNames), [])
  const toggle = (one: string): void =>
    setChosen(chosen.includes(one) ? chosen.filter((each) => each !== one) : [...chosen, one])
  if (names.length === 0)
    return <textarea {...{ id, name }} rows={3} placeholder="One per line" defaultValue={value.join('\n')} />
  const others = chosen.filter((one) => names.every(([known]) => known !== one))
  return (
    <div {...{ id }} class="choices" role="group" aria-label={title}>
      <input type="hidden" {...{ name }} value={chosen.join('\n')} />
      {[...names, ...others.map((one) => [one, nameOf(one) ?? one])].map(([one, shown]) => (
        <label key={one}>
          <input type="checkbox" checked={chosen.includes(one)} onChange={() => toggle(one)} /> {shown}
        </label>
      ))}
    </div>
  )
}
