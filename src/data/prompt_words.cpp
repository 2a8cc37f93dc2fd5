#include <iterator>
#include <sstream>

#include "data/prompts.h"

namespace darope {

const std::vector<std::string>& prompt_words() {
  static const std::vector<std::string> words = [] {
    std::istringstream text(
        "actor airplane airport alley aluminum amber anchor arena armor attic baker bakery ballet balloon "
        "bamboo banana banker barley barn basement bathroom battery beacon bedroom beetle bicycle "
        "bracelet bracket brake bronze bubble bucket buffalo bunker butter button cabbage cabinet cafe "
        "cage cake camel camera cannon canyon caramel carrot cement chalk chapel cheese cherry chicken "
        "cigar circus coach cocoa coconut coffin collar column comet cookie copper coral couch crab "
        "crater cream cricket crystal dancer denim dentist diamond diary doll dolphin dough dragon drawer "
        "drill drum duck eagle elevator envelope fabric factory feather festival fireplace flask fossil "
        "fountain freezer frog funnel furnace galaxy gallery garage garlic ginger glacier glove glue goat "
        "goose grandma granite grape gravel grill guitar hammer harbor harvest hawk heel helium helmet "
        "herb highway hive hockey honey hospital hydrogen inbox insect ivory jeans jelly jewel juice "
        "kettle kidney kitten lantern laptop laser lemon lens lever linen lizard lobby lobster locker "
        "lumber magnet mango maple marble mask mattress meteor miner mint missile monkey mosquito motel "
        "motor mushroom mustard nail necklace needle neighbor nest nickel nitrogen notebook olive onion "
        "opera orange orphan oven oxygen paddle palette parachute pasta pastry peach peanut pedal pencil "
        "pepper pirate piston pizza plank platinum plaza plum pony poster potato pumpkin puppet puzzle "
        "quartz radar raft rainbow razor referee ribbon robot rocket rubber ruby saddle salad salmon "
        "satellite sauce sausage scarf screw sculpture shark shelf shoe shovel shower shrimp sidewalk "
        "silver singer skirt skull slate snake soap socket soda sofa soup spice spider spinach spoon "
        "squash squirrel stadium stamp statue submarine sulfur sunrise sushi sweater syrup tailor tape "
        "tavern telescope tennis theater ticket tile timber tire toast tomato torch tourist towel tractor "
        "tray trousers truck trumpet tuna turbine turkey turtle umbrella vacuum vanilla vault velvet vest "
        "vine vinegar volcano wallet whale wool wrench yacht yarn yogurt zinc zipper ");
    return std::vector<std::string>(std::istream_iterator<std::string>(text), {});
  }();
  return words;
}

}  // namespace darope
