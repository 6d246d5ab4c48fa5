/** A choice of one of a few words that stand side by side. */
export function Segments<Value extends string | number>(props: {
  readonly label: string
  readonly value: Value
  readonly choices: readonly (readonly [Value, string])[]
  readonly onChange: (value: Value) => void
}) {
  return (
    <div class="segments" role="group" aria-label={props.label}>
      {props.choices.map(([value, name]) => (
        <button
          key={value}
          type="button"
          aria-pressed={value === props.value}
          onClick={() => props.onChange(value)}
        >
          {name}
        </button>
      ))}
    </div>
  )
}
