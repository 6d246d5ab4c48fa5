import type { VenueId } from '@priorbook/sdk/domain'
import { useEffect, useId, useRef, useState } from 'preact/hooks'
import { toTrouble } from '../app/trouble.ts'
import { VenueTag } from './words.tsx'

const TYPING_MS = 200

/** Something that can be chosen. */
export type Found = {
  readonly id: string
  readonly venue?: VenueId
  readonly title: string
  readonly detail: string
}

type PickProps<Row extends Found> = {
  readonly label: string
  readonly placeholder: string
  readonly picked: Found | undefined
  readonly error: string | undefined
  readonly search: (text: string, signal: AbortSignal) => Promise<readonly Row[]>
  readonly onPick: (row: Row | undefined) => void
}

/** A field that searches while it is typed into, and keeps what was chosen of the results. */
export function SearchPick<Row extends Found>(props: PickProps<Row>) {
  // The field and what was chosen take each other's place: the focus goes with them.
  const [hasFocus, setFocus] = useState(false)
  const onPick = (row: Row | undefined): void => {
    setFocus(true)
    props.onPick(row)
  }
  return props.picked === undefined ? (
    <SearchField {...props} hasFocus={hasFocus} onPick={onPick} />
  ) : (
    <Picked {...props} picked={props.picked} hasFocus={hasFocus} onPick={onPick} />
  )
}

function SearchField<Row extends Found>(props: PickProps<Row> & { readonly hasFocus: boolean }) {
  const { label, error, onPick } = props
  const id = useId()
  const [text, setText] = useState('')
  const [isOpen, setOpen] = useState(false)
  const [marked, setMarked] = useState(0)
  const input = useFocus<HTMLInputElement>(props.hasFocus)
  const { rows, trouble } = useFound(isOpen, text.trim(), props.search)
  const current = isOpen ? rows?.[marked] : undefined
  const press = (event: KeyboardEvent): void => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key]
    if (step !== undefined) {
      event.preventDefault()
      setOpen(true)
      const count = rows?.length ?? 0
      if (isOpen && count > 0) setMarked((marked + step + count) % count)
    } else if (event.key === 'Enter' && current !== undefined) {
      event.preventDefault()
      onPick(current)
    } else if (event.key === 'Escape') setOpen(false)
  }
  return (
    <div class="field search-pick">
      <label for={id}>{label}</label>
      <input
        ref={input}
        id={id}
        type="text"
        role="combobox"
        autocomplete="off"
        aria-autocomplete="list"
        aria-expanded={isOpen}
        aria-controls={`${id}-found`}
        {...(current === undefined ? {} : { 'aria-activedescendant': `${id}-${marked}` })}
        {...invalid(error, `${id}-error`)}
        placeholder={props.placeholder}
        maxLength={100}
        value={text}
        onFocus={() => setOpen(true)}
        onBlur={() => setOpen(false)}
        onKeyDown={press}
        onInput={(event) => {
          setText(event.currentTarget.value)
          setMarked(0)
          setOpen(true)
        }}
      />
      <FoundList {...props} id={id} rows={rows} marked={marked} isOpen={isOpen} />
      {isOpen && (rows === undefined || rows.length === 0) && (
        <p class="search-none quiet" role="status">
          {trouble ?? (rows === undefined ? 'Searching…' : 'Nothing matches.')}
        </p>
      )}
      <FieldError id={`${id}-error`} error={error} />
    </div>
  )
}

function FoundList<Row extends Found>(props: {
  readonly id: string
  readonly label: string
  readonly rows: readonly Row[] | undefined
  readonly marked: number
  readonly isOpen: boolean
  readonly onPick: (row: Row) => void
}) {
  const { id, label, rows, marked, isOpen, onPick } = props
  return (
    <ul id={`${id}-found`} role="listbox" aria-label={`${label}: results`} hidden={!isOpen}>
      {rows?.map((row, index) => (
        <li
          key={`${row.venue} ${row.id}`}
          id={`${id}-${index}`}
          role="option"
          aria-selected={index === marked}
          // The field keeps the focus, without which the list would close before the click.
          onPointerDown={(event) => event.preventDefault()}
          onClick={() => onPick(row)}
        >
          <FoundWords row={row} />
        </li>
      ))}
    </ul>
  )
}

function Picked(props: {
  readonly label: string
  readonly picked: Found
  readonly error: string | undefined
  readonly hasFocus: boolean
  readonly onPick: (row: undefined) => void
}) {
  const { label, picked, error, onPick } = props
  const id = useId()
  const button = useFocus<HTMLButtonElement>(props.hasFocus)
  return (
    <div class="field search-pick" role="group" aria-labelledby={id}>
      <span id={id}>{label}</span>
      <div class="picked">
        <FoundWords row={picked} />
        <button
          ref={button}
          type="button"
          aria-label={`Change ${label.toLowerCase()}`}
          {...(error === undefined
            ? {}
            : { 'data-invalid': 'yes', 'aria-describedby': `${id}-error` })}
          onClick={() => onPick(undefined)}
        >
          Change
        </button>
      </div>
      <FieldError id={`${id}-error`} error={error} />
    </div>
  )
}

// Takes the focus as it comes.
function useFocus<Target extends HTMLElement>(hasFocus: boolean) {
  const ref = useRef<Target>(null)
  useEffect(() => {
    if (hasFocus) ref.current?.focus()
  }, [])
  return ref
}

/** Says that a field is wrong, and where its message is. */
export function invalid(error: string | undefined, id: string) {
  return error === undefined ? {} : { 'aria-invalid': true, 'aria-describedby': id }
}

function FoundWords({ row }: { readonly row: Found }) {
  return (
    <>
      {row.venue !== undefined && <VenueTag venue={row.venue} />}
      <span class="found">
        <span class="mname">{row.title}</span>
        <span class="mid">{row.detail}</span>
      </span>
    </>
  )
}

/** What is wrong with a field, below it. */
export function FieldError(props: { readonly id: string; readonly error: string | undefined }) {
  return props.error === undefined ? null : (
    <p class="field-error" id={props.id} role="alert">
      {props.error}
    </p>
  )
}

// Searches with a delay, not with every letter; an answer that was overtaken is dropped.
function useFound<Row>(
  isOpen: boolean,
  text: string,
  search: (text: string, signal: AbortSignal) => Promise<readonly Row[]>,
): { readonly rows: readonly Row[] | undefined; readonly trouble: string | undefined } {
  const [rows, setRows] = useState<readonly Row[]>()
  const [trouble, setTrouble] = useState<string>()
  useEffect(() => {
    if (!isOpen) return undefined
    const stop = new AbortController()
    const run = async (): Promise<void> => {
      try {
        const found = await search(text, stop.signal)
        if (stop.signal.aborted) return
        setRows(found)
        setTrouble(undefined)
      } catch (error) {
        if (stop.signal.aborted) return
        setRows(undefined)
        setTrouble(toTrouble(error).text)
      }
    }
    const timer = setTimeout(() => void run(), text === '' ? 0 : TYPING_MS)
    return () => {
      clearTimeout(timer)
      stop.abort()
    }
  }, [isOpen, text])
  return { rows, trouble }
}
