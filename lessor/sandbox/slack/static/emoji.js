// The emoji names this kind of app uses; anything else stays as it was typed.

export const EMOJI = {
  "+1": "👍", "-1": "👎", alarm_clock: "⏰", arrows_counterclockwise: "🔄", ballot_box_with_check: "☑️", bangbang: "‼️",
  bell: "🔔", broom: "🧹", bulb: "💡", calendar: "📆", chart_with_upwards_trend: "📈", checkered_flag: "🏁", clipboard: "📋",
  clock1: "🕐", clock3: "🕒", computer: "💻", credit_card: "💳", desktop_computer: "🖥️", dollar: "💵", eyes: "👀", fire: "🔥",
  floppy_disk: "💾", gear: "⚙️", ghost: "👻", grey_question: "❔", hammer_and_wrench: "🛠️", heavy_check_mark: "✔️",
  heavy_plus_sign: "➕", hourglass: "⌛", hourglass_flowing_sand: "⏳", inbox_tray: "📥", information_source: "ℹ️", key: "🔑",
  large_blue_circle: "🔵", large_green_circle: "🟢", large_orange_circle: "🟠", large_red_square: "🟥", large_yellow_circle: "🟡",
  leaves: "🍃", link: "🔗", lock: "🔒", mag: "🔍", mailbox: "📫", memo: "📝", moneybag: "💰", money_with_wings: "💸",
  no_entry: "⛔", no_entry_sign: "🚫", octagonal_sign: "🛑", package: "📦", page_facing_up: "📄", pause_button: "⏸️",
  point_right: "👉", pushpin: "📌", question: "❓", raised_hand: "✋", receipt: "🧾", red_circle: "🔴", repeat: "🔁",
  robot_face: "🤖", rocket: "🚀", rotating_light: "🚨", scroll: "📜", seedling: "🌱", shield: "🛡️", sparkles: "✨", stop_sign: "🛑",
  stopwatch: "⏱️", tada: "🎉", thinking_face: "🤔", thumbsdown: "👎", thumbsup: "👍", ticket: "🎫", timer_clock: "⏲️",
  unlock: "🔓", warning: "⚠️", wastebasket: "🗑️", wave: "👋", white_check_mark: "✅", white_circle: "⚪", wrench: "🔧", x: "❌",
  zap: "⚡", palm_tree: "🌴", face_with_thermometer: "🤒", spiral_calendar_pad: "🗓️",
  house_with_garden: "🏡", speech_balloon: "💬", handshake: "🤝", busts_in_silhouette: "👥", double_vertical_bar: "⏸️", arrow_forward: "▶️",
  scales: "⚖️", airplane: "✈️", envelope: "✉️", outbox_tray: "📤", date: "📅", crescent_moon: "🌙", sunrise: "🌅", up: "🆙",
  zzz: "💤", snowflake: "❄️", brain: "🧠", bar_chart: "📊", mega: "📣", hash: "#️⃣", recycle: "♻️", black_circle: "⚫",
  arrow_right: "➡️", arrow_up: "⬆️", house: "🏠", office: "🏢", pray: "🙏", smile: "😄", slightly_smiling_face: "🙂", heart: "❤️",
};
