/** Our metrics and all labels that an expression of PromQL names. */
export function namesIn(promql: string): { readonly series: string[]; readonly labels: string[] } {
  const series = [...promql.matchAll(/\bpriorbook_\w+/g)].map(([name]) => name)
  const matched = [...promql.matchAll(/\{([^}]*)\}/g)].flatMap(([, inside]) =>
    [...inside!.matchAll(/(\w+)\s*(?:=~|!~|!=|=)/g)].map(([, label]) => label!),
  )
  const grouped = [...promql.matchAll(/\b(?:by|on) \(([^)]*)\)/g)].flatMap(([, inside]) =>
    inside!.split(',').map((label) => label.trim()),
  )
  return { series, labels: [...matched, ...grouped] }
}
