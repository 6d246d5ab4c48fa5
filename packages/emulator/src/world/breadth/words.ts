/** Words that the names of topics are made of. They name no real persons. */

/** States of the United States by their codes. */
export const STATES: readonly (readonly [code: string, name: string])[] = pairs(
  'AL Alabama,AK Alaska,AZ Arizona,AR Arkansas,CA California,CO Colorado,CT Connecticut,DE Delaware,' +
    'FL Florida,GA Georgia,HI Hawaii,ID Idaho,IL Illinois,IN Indiana,IA Iowa,KS Kansas,KY Kentucky,' +
    'LA Louisiana,ME Maine,MD Maryland,MA Massachusetts,MI Michigan,MN Minnesota,MS Mississippi,' +
    'MO Missouri,MT Montana,NE Nebraska,NV Nevada,NH New Hampshire,NJ New Jersey,NM New Mexico,' +
    'NY New York,NC North Carolina,ND North Dakota,OH Ohio,OK Oklahoma,OR Oregon,PA Pennsylvania,' +
    'RI Rhode Island,SC South Carolina,SD South Dakota,TN Tennessee,TX Texas,UT Utah,VT Vermont,' +
    'VA Virginia,WA Washington,WV West Virginia,WI Wisconsin,WY Wyoming',
)

/** Cities by the codes of their weather and of their teams; an even number. */
export const CITIES: readonly (readonly [code: string, name: string])[] = pairs(
  'NYC New York,LAX Los Angeles,CHI Chicago,MIA Miami,AUS Austin,DEN Denver,PHI Philadelphia,' +
    'BOS Boston,SEA Seattle,SFO San Francisco,HOU Houston,DAL Dallas,ATL Atlanta,PHX Phoenix,' +
    'DET Detroit,MIN Minneapolis,CLE Cleveland,POR Portland,ORL Orlando,SAC Sacramento,' +
    'MEM Memphis,MIL Milwaukee,IND Indianapolis,CHA Charlotte,TOR Toronto,MTL Montreal,LON London,' +
    'PAR Paris,MAD Madrid,BCN Barcelona,MUN Munich,MXP Milan,ROM Rome,LIS Lisbon,AMS Amsterdam,' +
    'LIV Liverpool,MAN Manchester,NAP Naples,SEV Seville,POA Porto',
)

/** Countries by their codes. */
export const COUNTRIES: readonly (readonly [code: string, name: string])[] = pairs(
  'US United States,GB United Kingdom,FR France,DE Germany,IT Italy,ES Spain,PT Portugal,NL Netherlands,' +
    'BE Belgium,AT Austria,CH Switzerland,SE Sweden,NO Norway,DK Denmark,FI Finland,PL Poland,' +
    'CZ Czechia,HU Hungary,RO Romania,BG Bulgaria,GR Greece,TR Turkey,JP Japan,KR South Korea,' +
    'IN India,AU Australia,NZ New Zealand,CA Canada,MX Mexico,BR Brazil,AR Argentina,CL Chile,' +
    'CO Colombia,PE Peru,ZA South Africa,NG Nigeria,KE Kenya,EG Egypt,IL Israel,PH Philippines',
)

/** Given names. */
export const FIRST_NAMES: readonly string[] = (
  'Ada,Ben,Carla,David,Elena,Frank,Grace,Henry,Irene,Jack,Karen,Leo,Maria,Nina,Oscar,Paula,' +
  'Quentin,Rosa,Samuel,Tara,Ursula,Victor,Wendy,Xavier,Yara,Zoe'
).split(',')

/** Surnames; their number and 7 have no common divisor. */
export const SURNAMES: readonly string[] = (
  'Smith,Johnson,Brown,Miller,Davis,Wilson,Anderson,Taylor,Moore,Jackson,Martin,Lee,Thompson,White,' +
  'Harris,Clark,Lewis,Walker,Hall,Young,Allen,King,Wright,Scott,Green,Baker,Adams,Nelson,Hill,' +
  'Campbell,Mitchell,Roberts,Carter,Phillips,Evans,Turner,Parker,Collins,Edwards,Stewart,Morris,' +
  'Murphy,Cook,Rogers,Morgan,Cooper,Peterson,Reed,Bailey,Bell,Kelly,Howard,Ward,Cox,Richardson,' +
  'Wood,Watson,Brooks,Bennett,Gray,James,Hughes,Price,Myers,Long,Foster,Sanders,Ross,Powell,' +
  'Sullivan,Russell,Fisher,Henderson,Jordan,Patterson,Graham,Wallace,Cole,West,Stone'
).split(',')

function pairs(text: string): (readonly [string, string])[] {
  return text.split(',').map((pair) => {
    const at = pair.indexOf(' ')
    return [pair.slice(0, at), pair.slice(at + 1)] as const
  })
}
