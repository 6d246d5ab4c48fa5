import { VENUE_IDS } from '@priorbook/sdk/domain'
import { useEffect, useRef, useState } from 'preact/hooks'
import { venueTitle } from './words.tsx'

const TYPING_MS = 250

/** A choice of one of some words. */
export function Choice(props: {
  readonly label: string
  readonly value: string
  readonly choices: readonly (readonly [string, string])[]
  readonly onChange: (value: string) => void
}) {
  return (
    <label>
      <span>{props.label}</span>
      <select value={props.value} onChange={(event) => props.onChange(event.currentTarget.value)}>
        {props.choices.map(([value, name]) => (
          <option key={value} value={value}>
            {name}
          </option>
        ))}
      </select>
    </label>
  )
}

/** A choice of one venue or all. */
export function VenueChoice(props: {
  readonly value: string | undefined
  /** What stands for no venue; all of them by default. */
  readonly none?: string
  readonly onChange: (venue: string) => void
}) {
  return (
    <Choice
      label="Venue"
      value={props.value ?? ''}
      choices={[
        ['', props.none ?? 'all venues'],
        ...VENUE_IDS.map((venue) => [venue, venueTitle(venue)] as const),
      ]}
      onChange={props.onChange}
    />
  )
}

const WINDOWS = ['5m', '15m', '1h', '4h', '1d']

/** A choice of one length of rounds or any. */
export function WindowChoice(props: {
  readonly value: string | undefined
  readonly onChange: (window: string) => void
}) {
  return (
    <Choice
      label="Window"
      value={props.value ?? ''}
      choices={[['', 'any'], ...WINDOWS.map((word) => [word, word] as const)]}
      onChange={props.onChange}
    />
  )
}

/** The asset that a list is limited to. */
export function AssetField(props: {
  readonly value: string | undefined
  readonly onChange: (asset: string) => void
}) {
  return (
    <TypedField
      label="Asset"
      placeholder="btc"
      value={props.value ?? ''}
      onChange={props.onChange}
    />
  )
}

/** A field of text, which the list follows with a delay, not with every letter. */
export function TypedField(props: {
  readonly label: string
  readonly placeholder: string
  readonly value: string
  readonly class?: string
  readonly onChange: (value: string) => void
}) {
  const [text, setText] = useState(props.value)
  const given = useRef(props.value)
  useEffect(() => {
    // What was typed before the first effect ran stays.
    if (given.current === props.value) return
    given.current = props.value
    setText(props.value)
  }, [props.value])
  useEffect(() => {
    if (text.trim() === props.value) return undefined
    const timer = setTimeout(() => props.onChange(text.trim()), TYPING_MS)
    return () => clearTimeout(timer)
  }, [text])
  return (
    <label class={props.class ?? ''}>
      <span>{props.label}</span>
      <input
        type="search"
        value={text}
        placeholder={props.placeholder}
        maxLength={100}
        onInput={(event) => setText(event.currentTarget.value)}
      />
    </label>
  )
}
