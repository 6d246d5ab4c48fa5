/** Names with their values. */
export function Facts(props: {
  readonly class: string
  readonly facts: readonly (readonly [name: string, value: string])[]
}) {
  return (
    <dl class={props.class}>
      {props.facts.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  )
}
