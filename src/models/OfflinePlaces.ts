/**
 * Places whose time zone is beyond doubt, and whose zone isn't named after them. Countries with several zones are left out:
 * nobody could say which one is meant.
 */
const placesByZone: Readonly<Record<string, ReadonlyArray<string>>> = {
  UTC: ["utc", "gmt", "greenwich", "z"],
  "Africa/Cairo": ["egypt"],
  "Africa/Johannesburg": ["south africa", "cape town", "durban", "pretoria"],
  "Africa/Lagos": ["nigeria", "abuja"],
  "Africa/Nairobi": ["kenya"],
  "America/Bogota": ["colombia", "medellín", "medellin", "bogotá"],
  "America/Lima": ["peru"],
  "America/Los_Angeles": [
    "california",
    "la",
    "las vegas",
    "palo alto",
    "portland",
    "san diego",
    "san francisco",
    "san jose",
    "seattle",
    "silicon valley"
  ],
  "America/Chicago": ["austin", "dallas", "houston", "minneapolis", "new orleans"],
  "America/Mexico_City": ["ciudad de méxico"],
  "America/New_York": [
    "atlanta",
    "boston",
    "miami",
    "new york city",
    "nyc",
    "philadelphia",
    "pittsburgh",
    "washington",
    "washington dc",
    "washington d.c."
  ],
  "America/Sao_Paulo": ["rio", "rio de janeiro", "são paulo", "brasilia", "brasília"],
  "America/Toronto": ["montreal", "montréal", "ottawa", "quebec"],
  "Asia/Bangkok": ["thailand"],
  "Asia/Dubai": ["abu dhabi", "uae", "united arab emirates"],
  "Asia/Ho_Chi_Minh": ["hanoi", "saigon", "vietnam"],
  "Asia/Jerusalem": ["israel", "tel aviv"],
  "Asia/Karachi": ["pakistan", "islamabad", "lahore"],
  "Asia/Kathmandu": ["nepal"],
  "Asia/Kolkata": [
    "bangalore",
    "bengaluru",
    "chennai",
    "delhi",
    "hyderabad",
    "india",
    "kolkata",
    "mumbai",
    "new delhi"
  ],
  "Asia/Manila": ["philippines", "the philippines"],
  "Asia/Riyadh": ["saudi arabia", "mecca"],
  "Asia/Seoul": ["korea", "south korea"],
  "Asia/Shanghai": ["beijing", "china", "guangzhou", "hangzhou", "shenzhen"],
  "Asia/Tokyo": ["japan", "kyoto", "nagoya", "osaka", "sapporo", "東京", "日本"],
  "Asia/Taipei": ["taiwan"],
  "Asia/Tehran": ["iran"],
  "Australia/Sydney": ["canberra"],
  "Europe/Amsterdam": ["holland", "netherlands", "the hague", "the netherlands", "rotterdam"],
  "Europe/Athens": ["greece"],
  "Europe/Berlin": [
    "cologne",
    "frankfurt",
    "germany",
    "hamburg",
    "köln",
    "leipzig",
    "munich",
    "münchen",
    "stuttgart"
  ],
  "Europe/Brussels": ["belgium", "antwerp"],
  "Europe/Bucharest": ["romania"],
  "Europe/Budapest": ["hungary"],
  "Europe/Copenhagen": ["denmark"],
  "Europe/Dublin": ["ireland"],
  "Europe/Helsinki": ["finland"],
  "Europe/Istanbul": ["turkey", "türkiye", "ankara"],
  "Europe/Kyiv": ["kiev", "kyiv", "ukraine"],
  "Europe/London": [
    "britain",
    "edinburgh",
    "england",
    "great britain",
    "manchester",
    "scotland",
    "uk",
    "united kingdom",
    "wales"
  ],
  "Europe/Madrid": ["barcelona"],
  "Europe/Oslo": ["norway"],
  "Europe/Paris": ["france", "lyon", "marseille"],
  "Europe/Prague": ["czechia", "czech republic"],
  "Europe/Rome": ["italy", "milan", "milano", "naples", "roma"],
  "Europe/Sofia": ["bulgaria"],
  "Europe/Stockholm": ["sweden", "gothenburg"],
  "Europe/Vienna": ["austria", "salzburg", "wien"],
  "Europe/Warsaw": ["poland", "kraków", "krakow"],
  "Europe/Zurich": ["basel", "bern", "geneva", "switzerland", "zürich"],
  "Pacific/Auckland": ["new zealand", "wellington"],
  "Pacific/Honolulu": ["hawaii"]
}

const ownNames: ReadonlyMap<string, string> = new Map(
  Object.entries(placesByZone).flatMap(([zone, places]) => places.map((place) => [place, zone] as const))
)

/** The zones that the runtime knows, by their names and by the cities that those end in. */
const zoneNames: ReadonlyMap<string, string> = new Map(
  Intl.supportedValuesOf("timeZone").flatMap((zone) => {
    const city = zone.split("/").at(-1) ?? zone
    return [
      [city.replaceAll("_", " ").toLowerCase(), zone],
      [zone.toLowerCase(), zone]
    ] as const
  })
)

/** The IANA time zone of a city, of a country with only one, or of a zone's own name; null for everything else. */
export const zoneOf = (place: string): string | null => {
  const name = place.toLowerCase()
  return ownNames.get(name) ?? zoneNames.get(name) ?? null
}
